/**
 * Patterns for prohibitions in some languages. The same list decides whether a sentence is a rule and whether a rule
 * is a prohibition.
 *
 * One sentence in, yes or no out. It errs towards a prohibition. One too many costs a line beside a summary, but a
 * missed one may cost a table. Every gap in a pattern is bounded, so its time is linear in the text.
 */

/** The start of a clause: the start of the text, a mark, or a word that leads into an order. */
const CLAUSE =
  "(?:^(?:(?:\\w+ly|hey|hi|guys|folks|team|reminder|remember|note|first|second|now|meanwhile|for now|instead),? ){0,3}|[,;:!(|>*_–—-]\\s*|" +
  "\\b(?:please|pls|plz|and|but|so|also|then|just|to|we|should|or|btw|again|ok|okay|whatever (?:you do|happens)|i (?:said|repeat|told you(?: to)?)),?\\s)";
const YOUR_CLAUSE = "\\b(?:when(?:ever)?|if|while|once|before|after|until) you [^,.;:]{1,60}? ";
const HARM = "(?:touch|chang|edit|modif|delet|remov|writ|push|deploy|run|mov|us|open|merg|drop|renam|commit)";

/** The start of an order to the agent. */
const ORDER =
  "(?:^|[,;:!(|>*_–—-]\\s*|\\b(?:please|pls|plz|and|but|so|also|then|just|always|first|you (?:must|should)),?\\s)";

/** English sentences that forbid. The exceptions after some words only tell of the past or think aloud. */
const FORBIDS: readonly RegExp[] = [
  /\bnever\b(?!(?<=\b(?:i|we|they|he|she|it|you|was|were|have|has|had|['’]ve) never) (?:(?!\w*eed\b|embed|shed)\w+ed|told|said|made|ran|did|went|got|came)\b)(?! (?:mind|seen|saw|heard|worked|works|happen(?:s|ed)?|had|been|got|gets|used it|tried|knew)\b)/i,
  /\b(?:must not|mustn['’]?t|may not|shall (?:not|never)|shan['’]?t|should not|shouldn['’]?t)\b(?! have (?!to\b)\w+(?:ed|en|t|ne)\b)/i,
  new RegExp(
    `(?:${CLAUSE}|\\byou,?\\s)(?:do not|don['’]?t)\\s+(?!know|think|have\\b(?! (?:(?:the|an?|any|your|my|our) )?\\w+ (?:send|call|pay|book|buy|post|mail|${HARM}))|see\\b|understand|remember|worry|get\\b(?! (?:\\S+ ){0,4}(?:involved|near|rid)\\b)|care|believe|recall|mind|you\\b(?! dare)|we\\b|they\\b|i\\b|seem|look\\b(?! (?:at|in))|really know)`,
    "i",
  ),
  new RegExp(`${YOUR_CLAUSE}(?:do not|don['’]?t) (?:ever )?(?:send|call|pay|book|buy|post|mail|${HARM})`, "i"),
  /^(?:please,? )?(?:can|could|would|will) you (?:please |just |kindly )?(?:not|never|avoid|refrain)\b(?! (?:see|find|hear|tell|read|understand|do)\b)/i,
  new RegExp(
    `${ORDER}(?:(?:ask|tell|warn|ping|consult|notify|(?:check|confirm) (?:it )?with|run (?:it|this|that|them) (?:by|past)) (?:me|us)(?: for (?:my )?\\w+)? (?:first|before)\\b|ask (?:first|before)\\b|(?:wait for|get|obtain|await) (?:my|our) (?:ok|okay|go|approval|permission|consent|confirmation|sign[- ]?off|green light|word|yes)\\b|(?:wait|hold off) (?:until|till) i )`,
    "i",
  ),
  /\b(?:i|we)(?: really| absolutely| just)? (?:do not|don['’]?t|would not|wouldn['’]?t) (?:want|need|like|wish|allow|accept)\b/i,
  /\b(?:can ?not be|can['’]?t be|not allowed|not permitted|no longer)\b/i,
  /\b(?:prohibited|forbidden|banned|off[- ]limits|taboo)\b|\b(?:is|are|stays?|remains?) read[- ]only\b/i,
  /\bunder no circumstances\b|\b(?:at|on|in) no (?:point|time|account|case|event)\b/i,
  /\b(?:hands off|refrain from|abstain from|(?:keep|stay) (?:out of|off|away from)|keep your hands off)\b/i,
  /\bleave\b.{1,60}\b(?:alone|untouched|unchanged|as (?:it|they) (?:is|are)|as[- ]is)\b/i,
  /\b(?:you|we|it|they)(?:['’]re| are| is) (?:not|never) to\b|\byou (?:will not|won['’]?t) (?!be|need|believe|find|see|get|have|regret)/i,
  new RegExp(`${CLAUSE}(?:stop|quit|no(?: more)?) (?!any|some|be|no)\\w+ing\\b`, "i"),
  /^(?:please,? )?no (?:more )?(?:changes|edits|writes|commits|pushes|deploys|deletions|new) /i,
  new RegExp(
    `\\b(?:nobody|no[- ]one|none of you)(?: ever)? (?:may|can|shall|should|must|gets? to|is (?:allowed )?to|${HARM}(?:e?s|ies)?)\\b`,
    "i",
  ),
  new RegExp(`\\b${HARM}e? (?:nothing|none of)\\b`, "i"),
  new RegExp(`\\b${HARM}e? (?:(?:every|any)thing (?:but|except)|(?:all|any|every)\\b[^.;:!?]{0,60}? except)\\b`, "i"),
];

/** Marks a rule as a prohibition if it has any word that denies or narrows. */
const DENIES =
  /\b(?:never|not|cannot|avoid|without|nothing|stop|don['’]?t|won['’]?t|can['’]?t|mustn['’]?t|shouldn['’]?t|no (?:more|need|other)|only)\b|n['’]t\b/i;

/** The same in the languages below, where `§` stands for it. */
const CLAUSE_ABROAD =
  "(?<=^|[,;:.!¡] ?|(?<!\\p{L})(?:bitte|und|aber|et|mais|plaît|surtout|favore?|pero|y|e|ma|mas|alsjeblieft|proszę|пожалуйста),? )";
/** Languages that write blanks between words. */
const SPACED: Readonly<Record<string, string>> = {
  german:
    "niemals|nie wieder|keinesfalls|(?:auf keinen|in keinem) fall|unter keinen umständen|untersagt|verboten|tabu|finger (?:weg|davon|von)|" +
    "lass(?:t|en sie)? .{1,60} in ruhe|(?:d[aü]rf|soll)(?:s?t|en)? (?:.{0,60} )?(?:nicht|nie|keine?[mnrs]?)|" +
    "(?:nicht|nie|keine?[mnrs]?) (?:.{0,40} )?(?:anfassen|anrühren|berühren|(?:ver)?ändern|löschen|(?:be)?nutzen|verwenden|bearbeiten|umbenennen|pushen|committen|deployen|mergen|ausführen|entfernen|hinzufügen)|" +
    "bitte (?:[^\\s,]+ ){0,3}(?:nichts?|nie|keine?[mnrs]?|niemand\\p{L}*) [^,.;:!?]{0,60}\\p{L}n|" +
    "§(?:(?:ver)?send|(?:ver)?schick|überweis|(?:be)?zahl|buch|kauf|bestell|ruf|kündig|veröffentlich|installier|deploy|merg|commit|verschieb|entfern|erstell|öffn|führ)(?:e|e?t|en sie)? (?:.{0,60} )?(?:nichts?|nie|keine?[mnrs]?|niemand\\p{L}*)(?! mehr seit)|" +
    "(?:fass|rühr|lösch|änder|push|benutz|verwend|nutz|mach|nimm|schreib)\\p{L}* (?:.{0,60} )?(?:nicht|nie|keine?[mnrs]?)",
  french:
    "ne (?:pas|jamais|plus) (?:l[ea]s? |l['’])?\\p{L}+(?:er|ir|re)|§n(?:e |['’])(?!(?:ai|as|a|avons|avez|ont|est|sont|suis|était) )(?:\\S+ ){1,3}(?:jamais|pas|plus|rien|aucune?|personne)|" +
    "ne (?:dois|devez|doit|faut|peux|pouvez) (?:pas|jamais|plus)|interdite?s?|§(?!m[êe]me|presque|encore|marche|passe)\\p{L}{3,}ez? (?:pas|jamais|rien)|§pas (?:touche|d(?:e |['’])(?!probl|souci|chance|doute|mal|réponse)\\p{L}+)|défense de|en aucun cas|sous aucun prétexte|évite[rz]?|laisse[rz]? .{1,60} tranquilles?",
  spanish:
    "nunca(?! (?:he|ha|han|había|funcion\\p{L}*))|jamás|prohibid[oa]s?|en ningún caso|bajo ning(?:ún concepto|una circunstancia)|evita(?:r|d)?|deja(?:d|r)? .{1,60} en paz|" +
    "no (?:l[aeo]s? |me |se )?(?:(?:toqu|borr|cambi|modifiqu|elimin|edit|ejecut|despliegu|renombr|env[ií]|mand|compr|pagu|llam|contact|cancel|instal|publiqu|dej)(?:es?|éis|en)|(?:us|reserv)(?:es|éis|en)|(?:hag|sub|escrib|añad|muev|abr|vend|met|pong)(?:as?|áis|an))|" +
    "§no (?:(?:toc|borr|cambi|us|modific|elimin|edit|ejecut|despleg|renombr|envi|mand|compr|pag|reserv|llam|contact|cancel|instal|public|dej)ar|(?:hac|mov|vend|romp)er|(?:sub|abr|escrib|añad)ir)(?:l[aeo]s?)?|no (?:quiero|queremos) que|" +
    "no (?:debes?|deben|se debe|se puede|se permite)",
  italian:
    "non \\p{L}+(?:are|ere|ire)|mai \\p{L}+(?:are|ere|ire)|§non (?!ho |hai |ha |abbiamo |hanno |è |sono )\\p{L}+ mai|non (?:devi|dovete|deve|devono|si deve|si può)|" +
    "§non (?!avete|siete|potete|volete|sapete|state )\\p{L}+[aei]te|" +
    "vietat[oaie]|proibit[oaie]|in nessun caso|per nessun motivo|evita(?:re|te)|lascia(?:te|re)? (?:stare|in pace)",
  portuguese:
    "jamais|proibid[oa]s?|em hipótese alguma|de forma alguma|em nenhum caso|sob nenhuma circunstância|evitem?|" +
    "não (?:(?:toqu|apagu|alter|mud|us|modifiqu|delet|edit|execut|publiqu|renomei|adicion|envi|mand|compr|pagu|reserv|ligu|contat|cancel|instal)e[sm]?|(?:mex|exclu|faç|escrev|remov|abr|mov|vend)(?:as?|am))|" +
    "§não (?!quer |ser |ter |haver )\\p{L}+[aei]r|" +
    "não (?:deve[sm]?|pode[sm]?) \\p{L}+r",
  dutch:
    "verboden|(?:mag|mogen|moet) (?:.{0,60} )?(?:niet|nooit|geen)|§(?:(?:niet(?! alle)|nooit|geen(?! idee| fouten)) .{0,60}(?:en|op|in)|" +
    "(?:raak|wijzig|verwijder|gebruik|push|deploy|stuur|kom) (?:.{0,60} )?(?:niet|nooit|geen))",
  polish: "pod żadnym|zabron\\p{L}+|zakaz\\p{L}*|nie wolno|§(?:nigdy )?nie \\p{L}+(?:[aiuy]j(?:cie)?|[aeiyą]ć)",
  russian:
    "нельзя|запрещ\\p{L}+|ни в коем|§(?:никогда )?не (?:надо|нужно|(?!очень|здесь|\\p{L}+ли(?!\\p{L}))\\p{L}+[йиь](?:те)?)",
  arabic: "ممنوع|يُ?منع|لا ت(?!عمل|وجد|زال|ظهر|ستطيع)\\p{L}{2,}",
};
const ABROAD = new RegExp(
  `(?<!\\p{L})(?:${Object.values(SPACED).join("|").replaceAll("§", CLAUSE_ABROAD)})(?!\\p{L})`,
  "iu",
);
/** Chinese, Japanese and Korean. */
const UNSPACED =
  /(?<![要])不要|千万(?:别|不能)|(?<![我它他她们么])不能.{0,2}[修更改动删碰触](?!.{0,12}了)|(?:^|[,，;；。、 请都也])[别別](?![人的名处處])|不(?:[准準许許]|得(?![不了已])|可以)|[严嚴]禁|禁止|[绝絕决決]不|[切请請]勿|永[远遠]不|ないで(?:ください|下さい|ね|ほしい(?!と)|欲しい|[。！!]|$)|ない(?:ように?|方向で|形で)(?:して[くほ]|お願い)|[てで]は(?:いけ|なら|だめ|ダメ)|[るうすつくぐぶむぬ]な(?:[。！!]|$)|(?:絶対に|決して).{0,40}ない|지[는도를]? ?(?:마(?:[세십라요\s.!,]|$)|말[고아자라것 ])|면 안 ?[된돼되됩]|금지/;
/** Finds the places to examine in a sentence that is too long to be a rule itself. */
const CUES = new RegExp(
  `\\b(?:never|not|stop|nobody|hands off|leave|refrain|forbidden|prohibited|no longer)\\b|dont\\b|n['’]t\\b|${ABROAD.source}|${UNSPACED.source}`,
  "giu",
);

/** True when the sentence by itself forbids something. */
export function forbids(sentence: string): boolean {
  return (
    FORBIDS.some((each) => each.test(sentence)) || ABROAD.test(sentence.normalize("NFC")) || UNSPACED.test(sentence)
  );
}

/** True when a rule forbids something instead of wishing for it. Prohibitions are kept before preferences. */
export function prohibits(rule: string): boolean {
  return DENIES.test(rule) || forbids(rule);
}

/** The places of words that may forbid, as character offsets in the text. */
export function* findCues(text: string): Generator<number> {
  for (const { index } of text.matchAll(CUES)) yield index;
}
