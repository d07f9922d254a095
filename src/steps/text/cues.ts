/**
 * Word patterns that show the purpose of a sentence, such as a request, a decision, a result or open work.
 *
 * One sentence in, yes or no out. The patterns run on sentences of bounded length and have no nested repeats.
 */

const GREETING =
  /^(?:(?:hi|hello|hey|got it|ok(?:ay)?|yes|yep|no|sure|great|perfect|good|nice|wow|cool|bye|yo|(?:thanks|thank you)(?: for\b[^,.!?;]{0,40}(?=[,.!?;]|$))?)\b[\s,!.—–]*)+/i;
const REQUEST =
  /\b(?:please|can you|could you|would you|can we|could we|i(?:['’]d)? (?:want|need|would like|like|wish)|we (?:need|want|should|have) to|let['’]?s|help me|i(?:['’]m| am) (?:looking|trying|hoping)|looking (?:to|for)|how (?:do|can) (?:i|we)|your task|the (?:goal|task) is)\b/i;
const IMPERATIVE =
  /^(?:(?:ok|okay|alright|now|then|also|and|so|next|first|btw)[,:]?\s+)*(?:add|analy[sz]e|book|build|cancel|change|check|clean|commit|continue|convert|create|debug|delete|deploy|design|do|draft|explain|extend|find|fix|give|implement|improve|investigate|keep|list|look|make|merge|migrate|move|open|port|prepare|propose|publish|read|refactor|release|remove|rename|replace|review|rewrite|run|search|send|set|show|start|summari[sz]e|tell|test|translate|try|update|upgrade|use|verify|write)\b/i;
/** The same in other languages: courtesies, and a few common verbs at the start. */
const REQUEST_ABROAD =
  /(?<!\p{L})(?:bitte|s['’]il|p[oe]r favore?|alsjeblieft|proszę|пожалуйста|من فضلك)(?!\p{L})|^(?:beheb|schreib|corr[ei][gj]|ajoute|escri|scrivi|maak|napraw|исправ|добав|напиши)\p{L}{0,3} |[请請]|[帮幫]我|把.+[改换換删刪]|ください|お願い|주세요|해 ?줘/iu;
const APPROVAL =
  /^(?:yes|yep|yeah|yup|sure|ok(?:ay)?|correct|right|agreed|approved|confirm(?:ed)?|perfect|great|exactly|absolutely|go ahead|sounds good|looks (?:good|amazing|great)|please (?:do|proceed|go ahead)|do it|that works|i (?:confirm|agree)|proceed)\b/i;
const PROPOSAL =
  /\b(?:would you like|shall (?:i|we)|should (?:i|we)|do you (?:want|agree|confirm)|ready to|is (?:that|this) (?:ok|correct|right)|does (?:that|this)|sound good|proceed|(?:you|please) confirm)\b/i;
const DECISION =
  /\b(?:decided|decision|we(?:['’]ll| will) (?:use|keep|go|do|put|move|have|make)|i(?:['’]ll| will) (?:go with|take|use|keep)|go(?:ing)? with|switch(?:ed|ing)? to|chose|chosen|opted|agreed|settled on|the approach|plan is|makes sense to|better to|the right (?:way|approach|place))\b/i;
const USER_DECISION =
  /\b(?:let['’]?s|instead|we(?:['’]ll| will)|i(?:['’]ll| will)|rather|go with|actually|belongs? (?:in|to)|should (?:be|go|have)|move (?:it|that|this|them)|works for me|can leave|keep)\b|->|→|=>/i;
const DONE =
  /\b(?:done|fixed|added|created|implemented|updated|removed|deleted|committed|pushed|merged|moved|renamed|extracted|refactored|replaced|completed?|finished|deployed|released|migrated|resolved|passes|passing|passed|works now|now (?:works|passes|uses|returns|supports|has)|booked|cancell?ed|refunded|confirmed|processed|issued|transferred|changed|upgraded|successful(?:ly)?|verified|found)\b|✅|✓/i;
const NOT_DONE =
  /\b(?:will|would|could|should|shall|may|might|once|if|unless|until|can be|to be|need(?:s|ed)? to|needs|want|please|let me|going to|not (?:yet|been)|cannot|can['’]?t|isn['’]?t|wasn['’]?t|hasn['’]?t|unable|before)\b|\?$/i;
const DONE_LEAD = /^(?:(?:all )?(?:done|fixed|committed|complete[d]?|pushed)\b|✅|✓)/i;
const TODO =
  /\b(?:to-?do|remaining|remains|still (?:need|have|has|needs|missing|failing|to)|next(?: step|,| is| i| we|:)|not yet|left to do|(?:is|are|still) pending|yet to|in progress|working on|follow-?up)\b/i;
const BLOCKED =
  /\b(?:blocked|blocker|waiting (?:for|on)|stuck|depends on|need(?:s)? (?:your|access|approval|permission))\b/i;
const CAUSE =
  /\b(?:root cause|the (?:real |actual )?(?:issue|problem|bug|error|cause|fix|solution|culprit) (?:is|was|here|lies|occurs|comes)|caused by|this (?:fails|failed|breaks|broke|happens|happened) because|fix(?:ed)? (?:by|it by|this by)|the reason (?:is|was|why))\b/i;
const NARRATION =
  /^(?:(?:good|great|perfect|ok(?:ay)?|alright|now|excellent|right|yes|hmm|wait|actually|sure|certainly)[,.!]?\s+)*(?:let me|let['’]s|i['’]ll|i will|i need to|i should|now\b|i['’]m going to|i see\b|this (?:uses|is)\b|first,? (?:let|i)|here(?:['’]s| is| are)|looking at|to (?:assist|help|proceed|book|find)|could you|can you|please|how can i|is there anything|if\b|once\b|when you|feel free|no worries|no problem|unfortunately, i|thank you|i apologi[sz]e|you['’]re (?:absolutely )?(?:right|welcome))\b/i;

const LABEL = /^(?:\*\*)?[\w-]+(?: [\w-]+){0,2}(?:\*\*)?: \S/;

/** Asks for something to be done. */
export const isRequest = (sentence: string): boolean =>
  REQUEST.test(sentence) || IMPERATIVE.test(sentence) || REQUEST_ABROAD.test(sentence);
/** Agrees to an earlier proposal. */
export const isApproval = (text: string): boolean =>
  text.length <= 80 && APPROVAL.test(text) && !text.trimEnd().endsWith("?");
/** Makes an offer that a yes would settle. */
export const isProposal = (sentence: string): boolean => isQuestion(sentence) && PROPOSAL.test(sentence);
/** States a decision of an assistant. */
export const isDecision = (sentence: string): boolean => DECISION.test(sentence) && !isQuestion(sentence);
/** States a decision of a user. */
export const isUserDecision = (sentence: string): boolean => USER_DECISION.test(sentence) && !isQuestion(sentence);
/** States a result, as opposed to a plan or a condition. */
export const isDone = (sentence: string): boolean =>
  DONE_LEAD.test(sentence) || (DONE.test(sentence) && !NOT_DONE.test(sentence));
/** States open work. */
export const isTodo = (sentence: string): boolean => TODO.test(sentence) && !isQuestion(sentence);
/** States an obstacle. */
export const isBlocked = (sentence: string): boolean => BLOCKED.test(sentence) && !isQuestion(sentence);
/** States why something failed, or how it was fixed. */
export const isCause = (sentence: string): boolean => CAUSE.test(sentence) && !isQuestion(sentence);
/** Talks about the conversation itself: an announcement or a courtesy. */
export const isNarration = (sentence: string): boolean => NARRATION.test(sentence);
/** Begins with a label, as a line of a pasted list does: "Check: ..." */
export const isLabel = (sentence: string): boolean => LABEL.test(sentence);
/** Announces a list or code that is not part of the sentence. */
export const isIntroduction = (sentence: string): boolean => /:\W*$/.test(sentence);
/** Asks a question. */
export const isQuestion = (sentence: string): boolean => /(?:[?？]["'’”)\]」]*|[吗嗎]。?|[すの]か。?)$/.test(sentence);
/** The sentence without a courtesy at its start. */
export const withoutGreeting = (sentence: string): string => sentence.replace(GREETING, "");
