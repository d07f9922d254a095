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
const HARM = "(?:touch|chang|edit|modif|delet|remov|writ|push|deploy|run|mov|us|open|merg|drop|renam|commit)";
const ACTS = `(?:send|call|pay|book|buy|post|mail|${HARM})`;

/**
 * English sentences that forbid, in small letters, because a pattern that ignores case takes twice as long. The exceptions after some words
 * only tell of the past or think aloud.
 */
const FORBIDS: readonly RegExp[] = [
  /\bnever\b(?!(?<=\b(?:i|we|they|he|she|it|you|was|were|have|has|had|'ve) never) (?:(?!\w*eed\b|embed|shed)\w+ed|told|said|made|ran|did|went|got|came)\b)(?! (?:mind|seen|saw|heard|worked|works|happen(?:s|ed)?|had|been|got|gets|used it|tried|knew)\b)/,
  /\b(?:(?:must|may|shall|should)(?: not|n'?t)|shan'?t)\b(?! (?:have (?!to\b)\w+(?:ed|en|t|ne)|take|matter|be (?:a|too|hard|long|difficult))\b)/,
  new RegExp(
    `(?:${CLAUSE}|\\byou,?\\s(?:\\w+ )?)(?:do not|don'?t)\\s+(?!know|think|have\\b(?! (?:(?:the|an?|any|your|my|our) )?\\w+ ${ACTS})|see\\b|understand|remember|worry|hesitate|forget|need to\\b|be (?:sorry|afraid|shy)|get\\b(?! (?:\\S+ ){0,4}(?:involved|near|rid)\\b)|care|believe|recall|mind|you\\b(?! dare)|we\\b|they\\b|i\\b|seem|look\\b(?! (?:at|in))|really know)`,
  ),
  /\byou (?:please |just |kindly )?(?:not|avoid|refrain)\b(?! (?:see|find|hear|tell|read|understand|do)\b)/,
  new RegExp(
    `${CLAUSE}(?<!\\bto )(?:(?:ask|tell|warn|ping|consult|notify|(?:check|confirm) (?:it )?with|run (?:it|this|that|them|all|any\\w*|every\\w*(?: \\w+)?) (?:by|past)) (?:me|us)(?: for (?:my )?\\w+)? (?:first|before)\\b|ask (?:first|before)\\b|(?:wait for|get|obtain|await) (?:my|our) (?:ok|go|approv|permis|consent|confirm|sign|green light|word|yes)|wait (?:until|till) i |(?:wait|hold|pause) [\\w ]{0,40}?\\b(?:until|till) (?:i|we) (?:say|tell|approve|give|confirm)\\b)`,
  ),
  /\b(?:i|we)(?: really| absolutely| just)? (?:do not|don'?t|would not|wouldn'?t) (?:want|need|like|wish|allow|accept)\b/,
  /\b(?:can(?: ?not|'?t) be (?!found|reach|read|open|load|resolv|right|true|that|seen)|(?:not|\w+n't) (?:allowed|permitted)|no longer (?:use|do|accept|allow|want|may|be)\b)/,
  new RegExp(`\\b(?:you|u) can(?: ?not|'?t) (?:access|${ACTS})`),
  /\b(?:prohibited|forbidden|banned|off[- ]limits|taboo|confidential)\b|\b(?:i|we) (?:forbid|prohibit|veto)\b|^read[- ]only:|\b(?:is|are|stays?|remains?) (?:read[- ]only\b|(?:frozen|locked|closed) (?:un)?till?\b)/,
  /\bunder (?:no|any) circumstances?\b|\bout of the question\b|\ba no[- ]?(?:go|no)\b|\b(?:at|on|in) no (?:point|time|account|case|event)\b/,
  /\b(?:hands off|hold off|steer clear of|(?:refrain|abstain) from|(?:keep|stay) (?:out of|off|away from))\b/,
  /\bnothing (?:\S+ ){0,4}(?:may|shall|must|should)\b(?! (?:have|be wrong)\b)|^(?:would you )?mind not \w+ing|\b(?:leave|let) [^,.;:!?]{1,40} be(?=[.,;!]|$)/,
  /\b(?:needs?|requires?) (?:my|our) (?:\w+ )?(?:ok|okay|go|approv\w*|permis\w*|consent|confirm\w*|sign\w*)\b|\b(?:i|we) (?:need|have|want) to (?:sign off|be asked before)\b/,
  /\bit(?: is|'s)(?: not|n't) (?:ok|okay|acceptable) to\b|^\w+ing\b.{0,60}\b(?:is|are)(?: not|n't) (?:ok|okay|acceptable)[.!]*$/,
  new RegExp(
    `${CLAUSE}(?:tell|wire|send|call|pay|book|buy|mail) (?:\\w+ )?(?:nobody|no[- ]one|no (?!matter|longer)\\w+)\\b`,
  ),
  /\b(?:leave|keep|stays?)\b.{1,60}\b(?:alone|untouched|unchanged|intact|as (?:it|they) (?:is|are)|as[- ]is)\b/,
  /(?:\b(?:are|is)|'re) (?:not|never) to\b|\byou (?:will not|won'?t) (?!be|need|believe|find|see|get|have|regret)/,
  new RegExp(`${CLAUSE}(?:stop|quit|cease|no(?: more)?) (?!any|some|be|no)\\w+ing\\b`),
  new RegExp(
    `^(?:please,? |absolutely )?no (?:more |direct |force[- ])?(?!user)(?:new|e?-?mails|${HARM}\\w*s) (?!.*\\b(?:since|so far|yet|found|detected|was|were|ha[ds]|have|happen\\w*|seems?|are \\w+ing)\\b)`,
  ),
  // All of a sentence, or with a courtesy.
  /^(?:(?:please|pls|plz|absolutely|strictly),? no (?!need|one)\w+|no (?!need|one)[\w -]{2,40},? (?:please|pls|plz)[.!]*$)/,
  /^(?:and |but )?no (?!(?:\w+ )*(?:problems?|worries|errors?|issues?|changes|updates|results|thanks|matches|conflicts|failures|warnings|news|questions|complaints|comments|ideas|plans|reasons|doubts|differences|signs|tests|luck|access|success|progress)\b)(?:[\w-]+ ){0,3}[\w-]+s[.!]*$/,
  new RegExp(
    `\\b(?:nobody|no[- ]one|none of you)(?: (?:but|except|other than|besides) (?:the )?[\\w-]+(?: team)?)?(?: ever)? (?:may|can|shall|should|must|gets? to|is (?:allowed )?to|${HARM}(?:e?s|ies)?)\\b`,
  ),
  new RegExp(
    `\\b${HARM}e? (?:nothing|none of|(?:every|any)thing (?:but|except)|(?:all|any|every)\\b[^.;:!?]{0,60}? except)\\b`,
  ),
];

/** Marks a rule as a prohibition if it has any word that denies or narrows. */
const DENIES =
  /\b(?:never|not|cannot|avoid|without|nothing|stop|(?:do|wo|ca|must|should)nt|no (?:more|need|other)|only)\b|n't\b/i;

/** The same in the languages below, where `§` stands for it. */
const CLAUSE_ABROAD =
  "(?<=^|[,;:.!¡] ?|(?<!\\p{L})(?:bitte|und|aber|et|mais|plaît|surtout|favore?|pero|y|e|ma|mas|alsjeblieft|proszę|пожалуйста|прошу|только),? )";
/** Languages that write blanks between words: first what they share, then the orders of each. */
const SPACED = [
  // Plain words for it.
  "niemals|nie wieder|keinesfalls|unter keinen umständen|tabu|finger (?:weg|davon|von)|jamás|§jamais|per nessun motivo|(?:em hipótese|de forma) alguma|" +
    "(?:auf keinen|in keinem) fall|(?:en (?:aucun|ningún)|in nessun|em nenhum) cas[os]?|sous aucun|bajo ning\\p{L}+|sob nenhuma|pod żadnym|ни в коем|" +
    "(?:untersagt|verbo[td]en|interdi[tc]|prohibid|proibi[dt]|vietat|zabr[ao]n|zakaz|запрещ|нельзя|ممنوع|يُ?منع)\\p{L}*|défense de|nie wolno|[eé]vit(?:e[mrz]?|a(?:r|d|re|te)?)|" +
    "(?:lass|laisse|deja|lascia)\\p{L}{0,2} (?:.{1,60} )?(?:in ruhe|unverändert|tranquilles?|en paz|in pace|stare)|" +
    "nunca(?! (?:h[ea]n?|había|vi|funcion\\p{L}*|\\p{L}+(?:ó|[eio]u|í|é))(?!\\p{L}))|(?:§nada de|§никаких|§niente) (?!eso|lo |malo|nada|nov|nuev|di |probl|проблем|ошиб)\\p{L}+(?: \\p{L}+|[.!]*$)|" +
    "se te ocurra|que (?:nadie|personne)",
  // What the user does not want.
  "(?:will|möchte) nicht,? dass|veux pas qu\\p{L}*|n(?:o|ão) qui?ero que|non voglio che|wil niet dat|не хочу,? чтобы",
  // What needs the user's leave.
  "(?:without|ohne|sans|sin|senza|sem|zonder|bez|без) (?:\\p{L}+ ){0,2}(?:a(?:p?pro[bv]|ccor|utori|bsprach)|conf[ie]rm|consen|perm[ei]s|freigab|erlaub|zustimm|rücksprach|toestemm|overleg|zgod|разреш|соглас)\\p{L}*",
  // What may or must not be done.
  "(?:d[aü]rf|soll)(?:s?t|en)? (?:.{0,60} )?(?:nicht|nie|keine?[mnrs]?)(?! heißen)|(?:mag|mogen|moet) (?:.{0,60} )?(?:niets?(?! zo )|nooit|geen)|" +
    "n(?:e|on?|ão) (?:s[ei] )?(?:de[bv]\\p{L}+|do(?:is|it|vete)|faut|permite)|n(?:o se puede|on si può|ão pode[ms]?)(?! (?:abr|acc|con|entr|le|ver))|не долж\\p{L}+",
  // German.
  "bleib\\p{L}* (?:.{0,40} )?(?:unverändert|wie (?:es|sie|er) (?:ist|sind))[.!]*$|§(?:verzichte|vermeide|unterlass\\p{L}*|hört? auf,?|fragt? (?:mich|uns) (?:.{0,20} )?(?:bevor|vorher|zuerst|erst))|" +
    "(?:wird|werden) (?:.{0,30} )?(?:nichts?|nie|keine?[mnrs]?) (?:.{0,30} )?(?:gepusht|gelöscht|(?:ver|ge)ändert|deployt|ge?merged?t?|committet|angefasst|gearbeitet|verschickt|bezahlt|gekauft)|" +
    "(?:nicht|nie|keine?[mnrs]?) (?:.{0,40} )?(?:anfassen|anrühren|(?:ver)?ändern|löschen|(?:be)?nutzen|verwenden|pushen|committen|deployen|mergen|entfernen)|" +
    "§keine? (?:neuen? |[^,.;:!?]{1,60}(?:!|, nur|,? bitte[.!]*$))|" +
    "bitte (?:[^\\s,]+ ){0,3}(?:nichts?|nie|keine?[mnrs]?|niemand\\p{L}*) [^,.;:!?]{0,60}\\p{L}n|" +
    "§(?:(?:ver)?(?:send|schick)|überweis|(?:be)?(?:zahl|nutz)|buch|kauf|bestell|ruf|kündig|veröffentlich|installier|deploy|merg|commit|verschieb|entfern|erstell|öffn|führ|fass|rühr|lösch|(?:ver)?änder|sag|erzähl|verrat|push|verwend|mach|nimm|schreib)" +
    "\\p{L}{0,2} (?:[^,]{0,60} )?(?:nichts?|nie|keine?[mnrs]?|niemand\\p{L}*)(?! mehr seit)",
  // Dutch.
  "§(?:blijf .{1,40} af|(?:niets?(?! alle)|nooit|geen(?! idee| fouten)) .{0,60}(?:en|op|in)|(?:raak|wijzig|verander|verwijder|gebruik|doe|push|deploy|stuur|kom) (?:.{0,60} )?(?:niets?|nooit|geen))",
  // French.
  "ne (?:pas|jamais|plus) (?:l[ea]s? |l')?\\p{L}+(?:er|ir|re)|§n(?:e |')(?!(?:ai|as|a|avons|avez|ont|est|sont|suis|était) )(?:\\S+ ){1,3}(?:jamais|pas|plus|rien|aucune?|personne)|" +
    "§(?!m[êe]me|presque|encore|marche|passe)\\p{L}{3,}ez? (?:pas|jamais|rien)|faut pas|n'(?:as|avez) (?:pas le|aucun) droit|§aucune? nouve\\p{L}+|§pas (?:touche|d(?:e |')(?!probl|souci|chance|doute|mal|réponse)\\p{L}+)",
  // Spanish.
  "no se toca|no (?:puedes|podéis) (?:borr|toc|cambi|modific|elimin|envi|pag|compr)ar|no (?:l[aeo]s? |me |se )?(?!(?:use|reserve)(?!\\p{L}))(?:(?:to[cq]|borr|cambi|us|modifi[cq]|elimin|edit|ejecut|despli?e(?:g|gu)|renombr|env[ií]|mand|compr|pagu?|reserv|llam|contact|cancel|instal|publi[cq]|gast|fusion|actuali[cz]|confirm|dej)u?(?:e[sn]?|éis|ar(?:l[aeo]s?)?)|" +
    "(?:hag|hac|sub|dig|dec|comp[aá]rt|(?:re)?escrib|añad|mue?v|romp|abr|vend|met|pong)(?:as?|áis|an|[ei]r(?:l[aeo]s?)?))",
  // Italian.
  "non si tocca|(?:non|mai) (?:(?:l[oaie]|ti|ne) (?!pare|sembra))?\\p{L}+(?:are|ere|ire|[aei]r(?:l[oaie]|mi|ti|ci|gli|ne))|§non (?!avete|siete|potete|volete|sapete|state )\\p{L}+[aei]te",
  // Portuguese.
  "§não (?:[oa]s? |me |se )?(?!(?:[mst]|qu)e |exist|aparec|respond|parec|cons[ei]gu|po[ds]|quer|entend|acontec|serv|sab|receb|ser|te[rvm]|est|haver|é)\\p{L}+(?:[aei]r|e[sm]?|(?:ç|ev|ov|br|ex|lu)a[sm]?)",
  // Polish.
  "§(?:nigdy |nikomu (?:.{0,20} )?)?nie (?:\\p{L}+(?:[aiuy]j(?:cie)?|[aeiyą]ć)|(?:rób|pisz|mów|bierz|płać)(?:cie)?)|nie moż(?:esz|ecie) \\p{L}+[aeiyą]ć|§żadn(?:ych|ej|ego) (?!błęd|probl|zmian)\\p{L}+",
  // Russian.
  "не (?:трог|удал|мен|измен|пуш|депло|прав|отправл|мерж|коммит)\\p{L}*ть|§(?:ни\\p{L}+ )?не (?:надо|нужно|(?!очень|здесь|\\p{L}+ли(?!\\p{L}))\\p{L}+[йиь](?:те)?)",
  // Arabic.
  "لا (?:يجوز|يُ?سمح|أريد أن)|إيا\\p{L}+ أن|لا ت(?!عمل|وجد|زال|ظهر|ستطيع)\\p{L}{2,}",
].join("|");
const ABROAD = new RegExp(`(?<!\\p{L})(?:${SPACED.replaceAll("§", CLAUSE_ABROAD)})(?!\\p{L})`, "u");
/** Chinese, Japanese and Korean. */
const UNSPACED =
  /(?<![要])不要|千万(?:别|不能)|(?<![我它他她们么])不能.{0,2}[修更改动删碰触](?!.{0,12}了)|(?:^|[,，;；。、 请都也])[别別](?![人的名处處])|[别別](?=[动動碰改删刪推发發])|不可(?=[修更改动動删刪碰推])|不[应應]?[该該](?=[动動修改删刪碰推])|不(?:[准準许許]|得(?![不了已])|可以(?![吗嗎？?]))|[严嚴厳]禁|(?:変更|削除)不可|禁止|[绝絕决決]不(?![是会會])|[切请請]勿|永[远遠]不|ないで(?:ください|下さい|ね|ほしい(?!と)|欲しい|[。！!]|$)|ない(?:(?:ように?|方向で|形で)(?:して[くほ]|お願い)|(?:こと|ように)(?:[。！!]|$))|(?:たら(?=[だダ])|[てで]は|ちゃ)(?:いけ|なら|だめ|ダメ)(?!だった|に?なった)(?!.{0,3}のに)|[るうすつくぐぶむぬ]な(?:[。！!]|$)|(?:絶対に|決して).{0,40}ない|지[는도를]? ?(?:마(?:[세십라요\s.!,]|$)|말[고아자라것 ])|지 않도록 ?(?:해|하|부탁)|면 안 ?[된돼되됩]|금지(?!어)/;
/** Asks not to worry, hesitate or forget, which forbids nothing. English has it in its own patterns. */
const HARMLESS =
  /(?<!\p{L})(?:(?:keine?|geen) (?:[sz]orge|angst|eile)|verg[ei]ss|hésit|oubli|(?:[tv]'|vous )?inqui[eéè]t|dimentic|esit|preocup|esque[cç]|zapom|пережива|заб[уы]|تقلق|تنس)\p{L}*|(?:不要|[别別])(?:[紧緊]|[担擔]心|忘|客[气氣])|(?:気に|遠慮|心配|忘れ)し?ないで|(?:걱정하|신경 쓰|잊)지 ?[마말]/gu;
/** A sentence that begins with its subject tells something more often than it orders. */
const TELLS = /^(?:i|we|it|s?he|they|the(?:re|se)?|th(?:is|at)|an?|das|d[ei]r?|es|ich|je|il|l[ae]|el|ik|я)(?!\p{L})/iu;
/** Marks of emphasis around words. */
const EMPHASIS = /(?<![\p{L}\p{N}])[*_~]+|[*_~]+(?![\p{L}\p{N}])/gu;
const PICTURE = /\p{Extended_Pictographic}(?:[\p{Extended_Pictographic}\p{Emoji_Modifier}]|\u200D|\uFE0F)*/gu;

/** A sentence without emphasis, with one kind of apostrophe, and with a comma for each picture. The patterns read it so. */
export function plainly(sentence: string): string {
  const said = sentence.normalize("NFC").replaceAll(/(?<=\p{L})[’‘ʼ`´′](?=\p{L})/gu, "'");
  return said
    .replaceAll(PICTURE, ", ")
    .replaceAll(EMPHASIS, "")
    .replaceAll(/\bnao\b/gi, "não")
    .trim();
}

/** True when the sentence by itself forbids something. */
export function forbids(sentence: string): boolean {
  const said = plainly(sentence).toLowerCase().replaceAll(HARMLESS, "");
  return FORBIDS.some((each) => each.test(said)) || ABROAD.test(said) || UNSPACED.test(said);
}

/** True when a rule forbids something instead of wishing for it. */
export function prohibits(rule: string): boolean {
  return DENIES.test(plainly(rule)) || forbids(rule);
}

/** The rules by how much would be lost with them, in their order where that is equal. Orders that forbid come first. */
export function firmestFirst<Rule extends { readonly value: string }>(rules: readonly Rule[]): Rule[] {
  const ranks = new Map(rules.map((rule) => [rule, rankOf(rule.value)]));
  return rules.toSorted((one, other) => (ranks.get(other) ?? 0) - (ranks.get(one) ?? 0));
}

/** 3 for an order that forbids, 2 for any other sentence that does, 1 for one that narrows, and 0 for a wish. */
function rankOf(rule: string): number {
  if (!forbids(rule)) return Number(DENIES.test(plainly(rule)));
  return TELLS.test(rule) ? 2 : 3;
}
