/**
 * Known weaknesses of stores of this kind, found by trying the stores that are nearest to ours.
 *
 * A fact names the weakness that its failure shows (`shows`), so that a table can list which store has which. At least one fact shows each
 * weakness.
 */
export const WEAKNESSES = {
  "waiting append": "An append waits for the summariser.",
  "untold failure": "A summariser that throws is told to nobody.",
  "asked at every append": "One that is down, declines or answers nothing is asked again at every append.",
  "lost with the object": "An eviction in the middle of a compaction loses it.",
  "one for each append": "Appends at the same time set off a compaction each.",
  "outlives a clear": "After a clear meanwhile, the old conversation's summary is stored.",
  "outlives an edit": "After an edit or a delete meanwhile, a stale or dead summary is stored and called a success.",
  "blank summary": "A blank summary stands for what was said.",
  "growing summary": "A summary may be longer than what it replaces.",
  "no gain": "A compaction that gains next to nothing is made again and again.",
  "prompt over the window": "A backlog larger than the model's window is sent in one prompt.",
  "deleted end": "A deleted end takes a summary out of force, or all later ones.",
  "another branch": "Another branch's summary keeps a branch from being compacted.",
  "swallowed messages": "Messages between a summary and the next range vanish unsummarised.",
  "one of two summaries": "Of two earlier summaries, only one reaches the next.",
  "shrinking summary": "A large earlier summary is to be told in a fifth of what came after it.",
  "beheaded path": "Deleting a message in the middle cuts off what is older.",
  "ids across sessions": "Two sessions cannot use the same message id.",
  "echoed summary": "A summary that a client sends back is stored as if it had been said.",
  "new root": "Appending many to a session that has messages begins a new path.",
  "left behind": "A deleted session leaves what was said in it.",
  "large message": "A message of more than two megabytes cannot be stored.",
  "end of the path": "Of a path of more than 10,001 messages the oldest vanish.",
} as const;

export type Weakness = keyof typeof WEAKNESSES;
