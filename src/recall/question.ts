/**
 * What a question asks for, and which messages may answer it by the places of its words.
 *
 * It reads no message. Asks are only compared with texts, so nothing in a question is an operator.
 */
import { lazy } from "../lazy.ts";
import { MAX_QUERY_TERMS } from "../limits.ts";
import { normalForm } from "../steps/text/text.ts";
import { stemmer as stemEnglish } from "@orama/stemmers/english";

/** A word in any of its forms, or adjacent words. */
export interface Ask {
  /** The word as it was written. Empty for a topic. */
  readonly word: string;
  readonly forms: readonly string[];
  /** Two characters of a script without blanks. */
  readonly isPair: boolean;
  /** Adjacent words, of which the last may be longer in the text. Null for a word in any form. */
  readonly phrase: { readonly text: string; readonly isBeginning: boolean } | null;
  /** True when it may be a name, which other languages decline. */
  readonly isName: boolean;
  /** True when only messages that have it, and their neighbours, can be an answer. */
  readonly isRequired: boolean;
}

/** An ask with the messages that have it, by number, newest first. */
export interface Match extends Ask {
  readonly seqs: readonly number[];
  /** False when there are older ones, too. */
  readonly isAll: boolean;
  /** The fewer messages have it, the higher. */
  readonly weight: number;
}

export interface Question {
  readonly asks: readonly Ask[];
  /** True where it asks for something that was said. Other texts are words to look for. */
  readonly isQuestion: boolean;
  /** True for a longer text, which describes the present work. */
  readonly isWork: boolean;
}

/** Characters of a question that are read. A page of text is enough to tell its subject. */
const MAX_QUESTION_CHARS = 2_000;
/** More words describe work in progress, in a question and in other texts. */
const QUESTION_WORDS = 15;
const FEW_WORDS = 7;
const QUESTION = /[?？؟]["'”’)]*\s*$/;
const PIECES = /"([^"]*)"?(\*?)|([^\s"]+)/g;
const NO_ASK = { forms: [], isPair: false, phrase: null, isName: false, isRequired: false };

/**
 * Reads a question: its words, `begin*`, and `"adjacent words"`. The last two are required only if the question
 * has nothing else, because a question may quote a title, and a text may quote anybody.
 */
export function readQuestion(query: string): Question {
  const quoted = new Map<string, Ask>();
  const rest: string[] = [];
  for (const [, phrase, star, word = ""] of query.slice(0, MAX_QUESTION_CHARS).matchAll(PIECES)) {
    const text = phrase ?? word.replace(/\*+$/, "");
    const isBeginning = star === "*" || (phrase === undefined && word.endsWith("*"));
    if (phrase !== undefined || !isBeginning) rest.push(text);
    if ((phrase !== undefined || isBeginning) && wordsOfText(text).length > 0) {
      quoted.set(`${text.toLowerCase()}${isBeginning}`, { ...NO_ASK, word: text, phrase: { text, isBeginning } });
    }
  }
  const exact = [...quoted.values()];
  const words = askWords(rest.join(" "));
  const isAsked = QUESTION.test(query);
  if (words.length > (isAsked ? QUESTION_WORDS : FEW_WORDS)) {
    return { asks: words.slice(0, MAX_QUERY_TERMS), isQuestion: false, isWork: true };
  }
  const isExact =
    exact.length > 0 &&
    rest.every((text) => quoted.has(`${text.toLowerCase()}false`) || wordsOfText(text).length === 0);
  const asks = isExact ? exact.map((each) => ({ ...each, isRequired: true })) : [...exact, ...words];
  return { asks: asks.slice(0, MAX_QUERY_TERMS), isQuestion: isAsked, isWork: false };
}

/** The share of a name's letters that an ending may take, and letters that it leaves. */
const NAME_ENDING_SHARE = 0.25;
const LEAST_NAME = 4;

/** The beginning of a name, by which it is looked for where no message has the name itself. Null for other words. */
export function beginningOf({ word, isName }: Ask): Ask | null {
  if (!isName || word.length <= LEAST_NAME) return null;
  const text = word.slice(0, Math.max(LEAST_NAME, Math.floor((1 - NAME_ENDING_SHARE) * word.length)));
  return { ...NO_ASK, word, phrase: { text, isBeginning: true } };
}

/** The least weight of a word. A word in half of the messages distinguishes none. */
const LEAST_WEIGHT = 0.05;

/** The weight of a word by the number of its messages, its inverse document frequency as in BM25. */
export function weightOf({ length }: readonly unknown[], messages: number): number {
  if (length === 0) return 0;
  return Math.max(LEAST_WEIGHT, Math.log((messages - length + 0.5) / (length + 0.5)));
}

/** The share of a match that its neighbours get, by distance, because people speak about one thing for many short turns. */
export const NEAR_SHARES: readonly number[] = [1, 0.5, 0.4, 0.33, 0.28, 0.24, 0.2, 0.17, 0.14, 0.12, 0.1];

/** Messages in the order in which they are likely to answer, including neighbours of a hit. */
export function rankMessages(
  matches: readonly Pick<Match, "weight" | "seqs">[],
  isInside: (seq: number) => boolean,
): number[] {
  const worth = new Map<number, number>();
  for (const { weight, seqs } of matches) {
    const best = spreadMessages(seqs.map((seq) => [seq, weight]));
    for (const [seq, share] of best) worth.set(seq, (worth.get(seq) ?? 0) + share);
  }
  return bestFirst([...worth].filter(([seq]) => isInside(seq)));
}

/** What each message is worth with those near it. A message keeps the most that it gets. */
export function spreadMessages(worth: Iterable<readonly [seq: number, worth: number]>): Map<number, number> {
  const best = new Map<number, number>();
  for (const [seq, own] of worth) {
    for (let near = seq - NEAR_SHARES.length + 1; near < seq + NEAR_SHARES.length; near++) {
      best.set(near, Math.max(best.get(near) ?? 0, own * (NEAR_SHARES[Math.abs(near - seq)] ?? 0)));
    }
  }
  return best;
}

/** The items with the most worth first, and later ones first among equals. */
export function bestFirst(worth: Iterable<readonly [item: number, worth: number]>): number[] {
  return [...worth].toSorted((a, b) => b[1] - a[1] || b[0] - a[0]).map(([item]) => item);
}

/**
 * The everyday topics of English questions, one a line: words that name it in a question, and further words that only answers have.
 *
 * A person asks about pets, and the conversation says "cat". A topic that a question names is one more ask. Any of the topic's words
 * matches it, so it counts the less, the more messages speak about the topic.
 */
const TOPICS = `
  pet animal: cat dog puppy kitten fish bird rabbit hamster guinea turtle snake lizard horse parrot vet
  hobby hobbies pastime interest activity activities leisure fun spare free relax unwind: love enjoy play paint draw read write hike guitar piano photography garden cook bake dance sing yoga swim camping run knit game puzzle
  food dish meal cuisine recipe snack cook eat restaurant diet: dinner lunch breakfast brunch ate cooked pasta pizza chicken beef rice soup salad cake bread cheese steak sushi curry sandwich taco burger noodles vegetables fruit chocolate dessert bake delicious tasty
  drink beverage alcohol: tea coffee juice water beer wine soda milk cocktail smoothie bar
  sport exercise fitness workout athletic healthy team: gym run yoga swim hike soccer football basketball tennis baseball volleyball hockey golf ski surf skate cycling marathon pilates boxing train race match
  travel trip vacation holiday visit destination country countries city cities place location abroad tour region state: flew flight airport road trip travel visit beach hotel island mountain Italy France Spain Germany England Paris London Rome Greece Japan China India Korea Thailand Mexico Canada Brazil Australia Europe Asia Africa America Hawaii California Florida Texas York Chicago Boston Seattle
  job work career profession occupation employ living: job work office company boss coworker shift intern hire promotion manager teacher nurse engineer designer freelance business clients
  study school education degree major university college course subject learn academic: school class university college freshman student exam test professor homework degree semester graduate math science history biology economics engineering
  family relative parent sibling kid child children: mother mom father dad sister brother son daughter parents grandma grandmother grandpa aunt uncle cousin niece nephew wife husband baby
  relationship status partner romantic marry married: single dating girlfriend boyfriend wife husband divorced breakup date engaged wedding together
  health illness disease sick symptom medical medicine injury condition: sick doctor hospital pain hurt fever cold cough flu covid allergy allergic meds surgery headache stomach injured broke sore therapy
  music song band singer musician instrument concert genre: guitar piano violin drums flute song sing listen album concert playlist rock jazz pop rap classical
  book read author novel literature genre: book read novel author library story chapter series fantasy fiction
  movie film cinema series show tv actor: movie film watch watched show series netflix episode season anime actor
  game gamer video: game play played xbox playstation nintendo console chess cards board
  art artistic artwork creative craft culture cultural: paint painting draw drawing museum gallery pottery sculpture photography theater exhibit ruins
  look appearance hair wear clothes outfit fashion style: hair brunette blonde tall short eyes nails dress shirt shoes jacket wear tattoo makeup
  beauty treatment: nails hair haircut spa skin makeup massage
  home house live apartment residence neighborhood: house apartment live moved room bedroom kitchen living rent roommate neighborhood city street
  housework chore home improvement: clean laundry garden dishes vacuum tidy organize redecorate repair
  color colour: red blue green yellow black white pink purple orange brown
  emotion feel feeling mood react reaction: happy sad excited nervous anxious proud angry upset stressed worried lonely scared grateful
  weather climate temperature: rain snow sunny storm cold hot warm wind cloudy blizzard freezing
  celebrate celebration festival party event: birthday christmas party thanksgiving halloween wedding anniversary new year graduation
  gift present: gift present gave bought birthday
  money buy purchase shop cost expensive: bought buy price store shop mall paid dollars order sale
  transport transportation vehicle commute car drive: car bus train bike drove drive subway plane truck
  technology device gadget electronics: phone laptop computer app tablet software internet
  plan future goal dream aspire intend ambition: want hope plan going dream someday wish
  age old young: years old birthday born turned
  personality trait character describe person: kind funny shy caring friendly quiet outgoing
  friend: friend buddy bestie roommate classmate friends
  start begin: started began first recently new
  stop quit end finish: stopped quit finished done over anymore
  problem issue difficult challenge struggle trouble: hard problem difficult tough struggle issue trouble unfortunately
  like favorite prefer love enjoy: favorite love like prefer best enjoy fan
  dislike hate: hate dislike annoying worst boring bad
  nature outdoor outside: hike park forest beach mountain lake trail camping river garden
  help support volunteer charity: help support volunteer donate community shelter
  win award achievement success accomplish prize compete competition: won win first award prize medal contest competition tournament trophy
  celebrity celebrities famous star: actor singer famous star youtuber celebrity
  religion religious faith spiritual believe: church god pray temple faith meditation
  language speak: english spanish french german japanese chinese korean language speak learn
  photo picture image share: photo picture image shared pic
  sleep rest tired: sleep slept bed nap tired awake night
  wake morning routine: woke morning breakfast early
  accident injury hurt: crash fell broke hurt injured hospital accident
  inspire motivate reason why: because inspire motivate reason since
  teach class lesson learn: class lesson teach teacher learn course workshop
  dessert sweet: cake cookies ice cream chocolate pie candy brownie
`;

const topics = lazy(() =>
  TOPICS.trim()
    .split("\n")
    .map((line) => ({
      names: new Set(formsOfText(line.split(":")[0] ?? "", ENGLISH)),
      forms: [...new Set(formsOfText(line, ENGLISH))],
    })),
);

/** An ask for each topic that a question names. None in other languages than English. */
export function topicAsks(question: string): Ask[] {
  if (languageOf(question) !== ENGLISH) return [];
  const asked = formsOfText(question, ENGLISH);
  const named = topics().filter(({ names }) => asked.some((form) => names.has(form)));
  return named.map(({ forms }) => ({ ...NO_ASK, word: "", forms }));
}

// Reduces the words of a text to a form that matches their other forms, such as "promised" and "promises" to "promis".
//
// Text in, forms out, without a list of words to search. A wrong guess of the language is harmless. A text and a
// question about it are read by the same rules, and a word that no rule matches stays unchanged. Scripts without blanks
// are read in pairs of characters, so that any part of a longer run shares pairs with it.

/** Characters of a text from which its language is detected. */
const DETECTED_CHARS = 2_000;
/** A single letter, as an apostrophe leaves it. "don't" is read as "don" and "t". */
const LETTER = /^\p{L}$/u;
/** A word that begins with a capital may be a name, unless a sentence begins with it. What stands before is read at capitals only. */
const CAPITALISED = /(?=\p{Lu})(?:(?<=[^.?!:\s]\s+["'“‘«(]?)|^(?=\S+$))\p{Lu}[\p{L}\p{M}]+/gu;

/** Size of the cache of stems, enough for the words of a long conversation. */
const MAX_REMEMBERED = 20_000;

/** Scripts that write words without blanks, or attach endings to them. */
export const UNSPACED =
  "\\p{scx=Han}\\p{scx=Hira}\\p{scx=Kana}\\p{scx=Hang}\\p{scx=Thai}\\p{scx=Laoo}\\p{scx=Khmr}\\p{scx=Mymr}";
const WORD = new RegExp(`[${UNSPACED}]+|(?:(?![${UNSPACED}])[\\p{L}\\p{M}\\p{N}])+`, "gu");
const HAS_UNSPACED = new RegExp(`[${UNSPACED}]`, "u");
const MARKS = /\p{M}/gu;
const CHARACTERS = /\P{M}\p{M}*|\p{M}+/gu;
/** Plain ASCII, as most texts are, and ten times as fast to read. */
const IS_PLAIN = /^[\0-\x7f]*$/;
const PLAIN_WORD = /[a-z0-9]+/g;
/** Matches like {@link WORD} where no script without blanks occurs. */
const SPACED_WORD = /[\p{L}\p{M}\p{N}]+/gu;

/** A language with known endings. */
export interface Language {
  readonly stem: (word: string) => string;
  /** Words that occur in every sentence. They only help to tell the language. */
  readonly stopWords: ReadonlySet<string>;
}

export const ENGLISH = language(
  stemEnglish,
  `a about above after again against all am an and any are aren as at be because been before being below between both but by can
  cannot could couldn did didn do does doesn doing don down during each few for from further had hadn has hasn have haven having he
  her here hers herself him himself his how i if in into is isn it its itself just let ll me more most mustn my myself no nor not of
  off on once only or other ought our ours ourselves out over own re same shall shan she should shouldn so some such than that the
  their theirs them themselves then there these they this those through to too under until up us ve very was wasn we were weren what
  when where which while who whom whose why will with won would wouldn you your yours yourself yourselves`,
);

/** Endings of inflected words. The longest one that leaves enough of the word is removed. */
const LANGUAGES: readonly Language[] = [
  ENGLISH,
  language(
    endings("ungen ung heiten heit keiten keit isch lich ern ers est em en er es e n t"),
    `aber als am an auch auf aus bei bin bis da das dass dem den der des die dir doch du durch ein eine einem einen einer eines er es
    euch für gegen hab habe haben hat hatte hatten hier ich ihm ihn ihr ihre im in ins ist ja kann kein keine können man mein meine mich
    mir mit muss nach nicht noch nun nur ob oder ohne schon sehr sein seine sich sie sind so soll über um und uns unser unter vom von
    vor war waren warum was weil welche welcher welches wenn wer werden wie wieder wir wird wo zu zum zur`,
  ),
  language(
    endings(
      "ements ement ations ation euses euse ables able istes iste ées és ée er ez ent aient ait ais ons eaux eau aux al es e s é x",
    ),
    `à ai as au aussi aux avec avez avons c ce ces cet cette comme d dans de des du elle elles en est et été être eux fait il ils j je l la
    le les leur leurs lui ma mais me même mes moi mon n ne nos notre nous on ont ou où par pas plus pour pourquoi qu quand que quel quelle
    quelles quels qui s sa sans se ses si son sont sur ta te tes toi ton tu un une vos votre vous y`,
  ),
  language(
    endings(
      "amientos amiento imientos imiento aciones ación iones ión mente ables able istas ista aban aba ado ada ados adas ido ida idos idas ando iendo aron ieron ar er ir es os as o a e s",
    ),
    `a al algo como con cómo cuál cuándo cuando de del desde donde dónde dos e el él ella ellos en entre era eran es esa ese eso esta está
    están estas este esto estos fue ha hay la las le les lo los más me mi mis muy no nos o para pero por porque qué que quien quién se ser
    si sí sin sobre son su sus también te tiene tu un una uno unos y ya yo`,
  ),
  language(
    endings(
      "amentos amento imentos imento ações ação ões ão mente áveis ável istas ista avam ava ado ada ados adas ido ida idos idas ando endo aram eram ar er ir eu iu ou es os as o a e s",
    ),
    `a ao aos as às até com como da das de depois do dos e é ela elas ele eles em entre era essa esse esta está este eu foi foram há isso já
    lhe mais mas me meu minha muito na não nas nem no nos nós o onde os ou para pela pelo por porque qual quando que quem se sem ser seu
    sua são só também te tem um uma você vocês`,
  ),
  language(
    endings(
      "amenti amento imenti imento azioni azione ioni ione mente abili abile isti ista avano ava ato ata ati ate ito ita iti ite ando endo are ere ire i e o a",
    ),
    `a ad ai al alla alle anche c che chi ci come con cosa da dal dalla dei del della delle dello di dove e è ed era erano fra gli ha hanno ho
    i il in io l la le lei li lo loro lui ma mi mia mio ne nei nel nella no noi non o per perché più qual quale quali quando quella
    quello questa questo se si sono su sua suo te ti tra tu un una uno vi voi`,
  ),
  language(
    endings("heden heid ingen ing tjes tje jes je den de ten te en e t"),
    `aan al als bij dan dat de der deze die dit door dus een en er ge geen had heb hebben heeft hem het hier hij hoe hun ik in is ja je kan
    maar me meer men met mij mijn na naar niet nog nu of om omdat onder ons ook op over te tegen toch toen tot u uit van veel voor waar
    waarom wanneer want waren was wat we welke werd wie wij wil worden wordt zal ze zich zij zijn zo zonder`,
  ),
  language(
    endings(
      "ениями ениях ением ению ения ение остями ость ости ами ями ого его ому ему ыми ими али или ила ало ает ают ует ать ить еть ая яя ое ее ые ие ый ий ой ей ом ем ах ях ов ев ам ям ла ло ли ть ет ют ит ят у ю а я о е ы и ь",
    ),
    `а без бы был была были было в вам вас во вот все всё вы где да для до его ее её если есть еще ещё же за и из или им их к как какая какие
    какое какой ко когда кто ли мне мы на над нам нас не него нет ни но ну о об он она они от по под при с со так такой там то только
    ты у уже что чтобы эта эти это этот я`,
  ),
];

/** Each word as it is written, without accents. A text and a question in another language share nothing else of a name. */
export const AS_WRITTEN: Language = language((word) => word, "");

/** The least letters that must be left of a word. */
const LEAST_STEM = 3;

function endings(list: string): Language["stem"] {
  const longestFirst = list.split(" ").toSorted((a, b) => b.length - a.length);
  return (word) => {
    const ending = longestFirst.find((each) => word.endsWith(each) && word.length - each.length >= LEAST_STEM) ?? "";
    return word.slice(0, word.length - ending.length);
  };
}

/** The words of a text in lower case. In a script without blanks, each run counts as one. */
export function wordsOfText(text: string): string[] {
  if (IS_PLAIN.test(text)) return text.toLowerCase().match(PLAIN_WORD) ?? [];
  const plain = normalForm(text, "NFKC").toLowerCase();
  return plain.match(isUnspaced(plain) ? WORD : SPACED_WORD) ?? [];
}

/** True when the text has a character of a script without blanks. */
export function isUnspaced(text: string): boolean {
  return HAS_UNSPACED.test(text);
}

/** The form of each word of a text in the language, with repetitions. */
export function formsOfText(text: string, { stem }: Language): string[] {
  const words = wordsOfText(text);
  if (IS_PLAIN.test(text)) return words.map(stem);
  return words.flatMap((word) => (isUnspaced(word) ? pairsOf(word) : [stem(word)]));
}

/** The language of a text's beginning, by its stop words. English when there are none. */
export function languageOf(text: string): Language {
  return detectLanguage(wordsOfText(text.slice(0, DETECTED_CHARS))) ?? ENGLISH;
}

/** The asked words of a question, each once. Stop words are dropped, unless the question has nothing else. */
function askWords(text: string): Ask[] {
  const words = [...new Set(wordsOfText(text))];
  const language = detectLanguage(words);
  const stems = (language === null ? LANGUAGES : [language, ENGLISH]).map(({ stem }) => stem);
  const names = new Set(lowerAll(text.match(CAPITALISED)));
  const asked = words.flatMap((word): Ask[] => {
    if (isUnspaced(word)) return pairsOf(word).map((pair) => ({ ...NO_ASK, word: pair, forms: [pair], isPair: true }));
    return [{ ...NO_ASK, word, forms: [...new Set(stems.map((stem) => stem(word)))], isName: names.has(word) }];
  });
  const isMeaningful = ({ word, isPair }: Ask): boolean =>
    isPair || !(LETTER.test(word) || language?.stopWords.has(word) === true);
  const meaningful = asked.filter((each) => isMeaningful(each));
  const byForm = new Map(
    (meaningful.length === 0 ? asked : meaningful).toReversed().map((each) => [each.forms[0], each]),
  );
  return [...byForm.values()].toReversed();
}

/** The language of the most stop words. Null when there are none. */
function detectLanguage(words: readonly string[]): Language | null {
  let best: { language: Language | null; count: number } = { language: null, count: 0 };
  for (const each of LANGUAGES) {
    const count = words.reduce((sum, word) => sum + (each.stopWords.has(word) ? 1 : 0), 0);
    if (count > best.count) best = { language: each, count };
  }
  return best.language;
}

function lowerAll(words: readonly string[] | null): string[] {
  return words?.map((word) => normalForm(word, "NFKC").toLowerCase()) ?? [];
}

function withoutMarks(form: string): string {
  return IS_PLAIN.test(form) ? form : normalForm(form, "NFD").replaceAll(MARKS, "");
}

function pairsOf(run: string): string[] {
  // Signs that are written over or under a character belong to it, as in Thai.
  const characters = run.match(CHARACTERS) ?? [];
  if (characters.length < 2) return characters;
  return characters.slice(1).map((character, at) => `${characters[at] ?? ""}${character}`);
}

function language(stem: Language["stem"], stopWords: string): Language {
  const known = new Map<string, string>();
  const remembered = (word: string): string => {
    let form = known.get(word);
    if (form === undefined) {
      if (known.size >= MAX_REMEMBERED) known.clear();
      form = withoutMarks(stem(word) || word);
      known.set(word, form);
    }
    return form;
  };
  return { stem: remembered, stopWords: new Set(stopWords.split(/\s+/)) };
}
