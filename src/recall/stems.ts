/**
 * Reduces the words of a text to a form that matches their other forms, such as "promised" and "promises" to "promis".
 *
 * Text in, forms out, without a list of words to search. A wrong guess of the language is harmless. A text and a
 * question about it are read by the same rules, and a word that no rule matches stays unchanged. Scripts without blanks
 * are read in pairs of characters, so that any part of a longer run shares pairs with it.
 */
import { lazy } from "../lazy.ts";
import { stemmer as stemEnglish } from "@orama/stemmers/english";

/** Characters of a text from which its language is told. */
const TELLING_CHARS = 2_000;
/** A single letter, as an apostrophe leaves it. "don't" is read as "don" and "t". */
const LETTER = /^\p{L}$/u;
/** Names written in one, with hyphens or with underscores. */
const NAMES = /[\p{L}\p{M}\p{N}]+(?:[-_][\p{L}\p{M}\p{N}]+)*/gu;
const PLAIN_NAMES = /[a-z0-9]+(?:[-_][a-z0-9]+)*/gi;
const BETWEEN_PARTS = /[-_]|(?<=[\p{Ll}\p{N}])(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})/u;
/** Names and numbers in groups with digits, as in DE89 3704 0044, (555) 010-4477, 1,234,567, AB-12/34 and 00:1a:2b. */
const IN_GROUPS = /\b(?:[a-z]{1,5}-)?(?=[a-z]*\d)[a-z\d]+(?:[-.:/,][a-z\d]+|[ )(]{1,2}[a-z]*\d[a-z\d]*)+\b/gi;
/** The hash of a commit or an image, and the part of it that most tools show. */
const HASH = /^(?=\d*[a-f])(?=[a-f]*\d)[a-f\d]{8,64}$/i;
const HASH_CHARS = 7;
/** The longest name that is read in parts and in one. A longer one is code in some encoding. */
const MAX_NAME_CHARS = 40;
/** A letter that means something, as in "plan B". */
const LETTER_CODE = /(?<=\p{Ll} )[B-HJ-Z](?![\p{L}\p{N}'’])/gu;
/** A word that begins with a capital may be a name, unless a sentence begins with it. What stands before is read at capitals only. */
const CAPITALISED = /(?=\p{Lu})(?:(?<=[^.?!:\s]\s+["'“‘«(]?)|^(?=\S+$))\p{Lu}[\p{L}\p{M}]+/gu;
/** The least letters of a stem by which a name is found in another language. */
const LEAST_NAME_STEM = 4;

/** Size of the cache of stems, enough for the words of a long conversation. */
const MAX_REMEMBERED = 20_000;

/** Scripts that write words without blanks, or attach endings to them. */
export const UNSPACED =
  "\\p{scx=Han}\\p{scx=Hira}\\p{scx=Kana}\\p{scx=Hang}\\p{scx=Thai}\\p{scx=Laoo}\\p{scx=Khmr}\\p{scx=Mymr}";
const WORD = new RegExp(`[${UNSPACED}]+|(?:(?![${UNSPACED}])[\\p{L}\\p{M}\\p{N}])+`, "gu");
const HAS_UNSPACED = new RegExp(`[${UNSPACED}]`, "u");
/** Endings and particles of Japanese, which every sentence has. */
const PARTICLES = /^\p{scx=Hira}+$/u;
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

/** English words whose forms share no beginning, each group in one form. Rules of endings cannot know them. */
const IRREGULAR = `become became,begin began begun,bite bit bitten,blow blew blown,break broke broken,bring brought,build built,buy bought,
  catch caught,choose chose chosen,come came,deal dealt,draw drew drawn,drink drank drunk,drive drove driven,eat ate eaten,fall fell fallen,
  feed fed,feel felt,fight fought,find found,fly flew flown,forget forgot forgotten,forgive forgave forgiven,freeze froze frozen,get got
  gotten,give gave given,go went gone,grow grew grown,hear heard,hide hid hidden,hold held,keep kept,know knew known,lead led,leave left,
  lend lent,lose lost,make made,mean meant,meet met,pay paid,ride rode ridden,rise rose risen,run ran,say said,see saw seen,seek sought,sell
  sold,send sent,shake shook shaken,shoot shot,show shown,sing sang sung,sink sank sunk,sit sat,sleep slept,speak spoke spoken,spend spent,
  stand stood,steal stole stolen,stick stuck,strike struck,swear swore sworn,swim swam swum,take took taken,teach taught,tear tore torn,tell
  told,think thought,throw threw thrown,understand understood,wake woke woken,wear wore worn,win won,write wrote written,child children,
  man men,woman women,foot feet,tooth teeth,mouse mice,wife wives,life lives,knife knives,leaf leaves,half halves,person people`;
const firstForms = lazy(
  () =>
    new Map(
      IRREGULAR.split(",").flatMap((group) => {
        const [first = "", ...others] = group.trim().split(/\s+/);
        return others.map((other) => [stemEnglish(other), stemEnglish(first)]);
      }),
    ),
);

function stemEnglishWord(word: string): string {
  const stem = stemEnglish(word);
  return firstForms().get(stem) ?? stem;
}

export const ENGLISH = language(
  stemEnglishWord,
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
  const plain = text.normalize("NFKC").toLowerCase();
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

/**
 * Other spellings of names in a text: `getUserById` in its parts, `get_user`, `A-4471` and numbers in groups in one
 * word, and the beginning of a hash.
 */
export function spellingsOf(text: string): string[] {
  const spellings: string[] = [];
  const add = (word: string): void => {
    if (word.length <= MAX_NAME_CHARS && !isUnspaced(word)) spellings.push(...wordsOfText(word));
  };
  for (const name of text.match(IS_PLAIN.test(text) ? PLAIN_NAMES : NAMES) ?? []) {
    if (name.length > HASH_CHARS && HASH.test(name)) add(name.slice(0, HASH_CHARS));
    if (name.length > MAX_NAME_CHARS || !BETWEEN_PARTS.test(name)) continue;
    const parts = name.split(BETWEEN_PARTS);
    const isJoined = !/[-_]/.test(name);
    if (isJoined) for (const part of parts) add(part);
    else add(parts.join(""));
  }
  for (const [groups] of text.matchAll(IN_GROUPS)) add(groups.replaceAll(/\W/g, ""));
  return spellings;
}

/** The language of a text's beginning, by its stop words. English when there are none. */
export function languageOf(text: string): Language {
  return tellLanguage(wordsOfText(text.slice(0, TELLING_CHARS))) ?? ENGLISH;
}

/** An asked word with its possible forms. There is one form when its language is known. */
export interface AskedWord {
  readonly word: string;
  readonly forms: readonly string[];
  /** True for two characters of a script without blanks. The index has no form for them, only the characters. */
  readonly isPair: boolean;
  /** True when it may be a name, which other languages decline. */
  readonly isName: boolean;
}

/** The asked words of a question, each once. Stop words are dropped, unless the question has nothing else. */
export function askedWords(text: string): AskedWord[] {
  const words = [...new Set(wordsOfText(text))];
  const language = tellLanguage(words);
  const stems = (language === null ? LANGUAGES : [language, ENGLISH]).map(({ stem }) => stem);
  const names = new Set(lowerAll(text.match(CAPITALISED)));
  const codes = new Set(lowerAll(text.match(LETTER_CODE)));
  const asked = words.flatMap((word): AskedWord[] => {
    if (isUnspaced(word))
      return pairsOf(word).map((pair) => ({ word: pair, forms: [pair], isPair: true, isName: false }));
    const isName = names.has(word);
    const abroad = isName
      ? LANGUAGES.map(({ stem }) => stem(word)).filter((form) => form.length >= LEAST_NAME_STEM)
      : [];
    return [{ word, forms: [...new Set([...stems.map((stem) => stem(word)), ...abroad])], isPair: false, isName }];
  });
  const isTelling = ({ word, isPair }: AskedWord): boolean =>
    codes.has(word) || isPair || !(LETTER.test(word) || language?.stopWords.has(word) === true);
  const telling = asked.filter((each) => !PARTICLES.test(each.word) && isTelling(each));
  const byForm = new Map((telling.length === 0 ? asked : telling).toReversed().map((each) => [each.forms[0], each]));
  return [...byForm.values()].toReversed();
}

/** The language of the most stop words. Null when there are none. */
function tellLanguage(words: readonly string[]): Language | null {
  let best: { language: Language | null; count: number } = { language: null, count: 0 };
  for (const each of LANGUAGES) {
    const count = words.reduce((sum, word) => sum + (each.stopWords.has(word) ? 1 : 0), 0);
    if (count > best.count) best = { language: each, count };
  }
  return best.language;
}

function lowerAll(words: readonly string[] | null): string[] {
  return words?.map((word) => word.normalize("NFKC").toLowerCase()) ?? [];
}

function withoutMarks(form: string): string {
  return IS_PLAIN.test(form) ? form : form.normalize("NFD").replaceAll(MARKS, "");
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
