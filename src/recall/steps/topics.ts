/**
 * The everyday topics of English questions, each with words that answers use in place of the question's own.
 *
 * A person asks about pets, and the conversation says "cat". A topic that a question names is one more ask. Any of the topic's words
 * matches it, so it counts the less, the more messages speak about the topic. A written list is small, and it says exactly what it matches.
 */
import { NO_WORD, type Ask } from "./asked.ts";
import { ENGLISH, formsOfText, languageOf } from "./stems.ts";

/** A topic a line: words that name it in a question, and further words that only answers have. */
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

interface Topic {
  readonly names: ReadonlySet<string>;
  readonly forms: readonly string[];
}

const topics = TOPICS.trim().split("\n").map(readTopic);

function readTopic(line: string): Topic {
  const [names = ""] = line.split(":");
  return { names: new Set(formsOfText(names, ENGLISH)), forms: [...new Set(formsOfText(line, ENGLISH))] };
}

/** An ask for each topic that a question names. None in other languages than English. */
export function topicAsks(question: string): Ask[] {
  const language = languageOf(question);
  if (language !== ENGLISH) return [];
  const asked = formsOfText(question, language);
  return topics
    .filter(({ names }) => asked.some((form) => names.has(form)))
    .map(({ forms }) => ({ ...NO_WORD, forms }));
}
