/**
 * What two people tell each other, and what is asked about it later in other words.
 *
 * Each topic begins with the kind of its question and the question. `a` is the person asked about. A star marks the
 * lines that answer. `{one|two}` is one of these. A line of dashes parts what is said on different days.
 */
export const TOPICS = `
single | Which instrument is A taking lessons in?
b: Any plans for the dark evenings?
a*: I signed up for {cello|trombone|accordion} lessons, the teacher lives two doors down.
b: Brave! Does the cat hide?
a: Under the bed, the whole hour.

single | What did A get second hand on a Saturday?
a*: We finally went and got a {bread oven|copper pan|pasta roller} on Saturday, second hand.
b: Show me, show me.
a: It still smells of the last owner's garlic.

single | Why did A quit the old job?
b: So it is true, you are not there any more?
a*: I quit. They wanted me to {commute two hours|work every other Sunday|sign off on things I had not read}.
b: Good for you.
a: Ask me again when the rent is due.

single | What did A's parents run when A was in school?
b: You never say where you are from.
a*: My parents ran a {lighthouse|petrol station|sheep farm} near {Tarbert|Kirkwall|Ullapool}, I lived there till school was over.
b: That explains the jumpers.

single | Which food can A not have?
b: I am baking for tomorrow, anything you cannot have?
a*: No {hazelnuts|sesame|shellfish} for me, or my face doubles in size.
b: Noted in red.

single | Who threw A into the water to learn swimming?
b: You went in? In this weather?
a*: Every morning. My {grandmother|neighbour Ilse|old geography teacher} threw me off a pier when I was six, I have been at it since.
b: Charming.

single | What is the profession of A's sister, who became a partner?
a*: My sister just made partner, she is a {patent lawyer|tax adviser|vet for horses}, so dinner is on her.
b: Congratulations to her!

single | What did the movers drop when A moved?
a: Boxes everywhere.
a*: And the movers dropped the {aquarium|record player|big mirror}. In pieces.
b: Were they insured at least?
a: They say so.

single | Which novel's last chapter brought A to tears?
b: You look tired.
a*: I read until four. The last chapter of {the one about the ferryman|that family saga from Trieste|the beekeeper novel} had me in tears.
b: Lend it to me.

single | How does A travel during the train strikes?
b: Did the strike catch you?
a*: Not me, I {paddle across the lake|cycle along the canal|take the cable car} these days, whatever the trains do.

single | Which name did A's children vote for when the shelter called?
a*: The shelter called, we can pick him up on Friday. The children voted for {Biscuit|Admiral|Pickle}.
b: Poor animal.

single | What does A plan to open in eleven years?
b: Twelve more years for me.
a*: Eleven for me, and then I open a {repair shop for clocks|tea room|school for kites}. You will see.

when | When did A's brother get married?
a*: My brother's wedding was last weekend, I danced until my shoes gave up.
b: Pictures?
a: None that I will send.

when | When was A's first session with a psychologist?
a*: I had my first session with the psychologist yesterday.
b: How was it?
a: Odd and good.

when | When did A run twenty-one kilometres?
a*: Twenty-one kilometres this morning, and I was not even the last one in.
b: What? You never said that you trained!

when | When did A bring the little cat home?
a*: She is here! We brought the little cat home today.
b: Aaah. Does she eat?
a: Everything, the curtains included.

when | When did A see how they blow glass bottles?
a*: We were at the furnace where they blow bottles, two days ago. Hot as a summer in Seville.
b: I have always meant to see that.

when | When will A speak in front of four hundred people?
a*: They accepted it. I speak in the third week of next month, in front of four hundred people.
b: Do you sleep?
a: Not since.

when | When was A stranded with a broken gearbox?
a*: Stranded by the motorway last night. The gearbox simply died.
b: Who fetched you?
a: A man with a very small dog and a very large truck.

multi | Which animals live with A, such as behind the fridge or in a jar?
a*: The {tortoise|parrot} got out again, I found it behind the fridge.
b: Again?
-----
a*: We have a {rabbit|ferret} now as well, my daughter wore us down.
b: You said never.
-----
a*: And the {goldfish|stick insects} travelled with us in a jar, all the way.
b: Of course.

multi | Where has A been, with the rain, the market and the missed bus?
b: Where is that picture from?
a*: {Portugal|Slovenia}, three years ago, the week when it rained.
-----
a*: This reminds me of {Morocco|Georgia}, the market there, we stayed a month.
b: You and your markets.
-----
a*: I once missed the only bus of the day in {Norway|Peru}. Slept in a church.

multi | What does A do on Sundays and Thursdays, and what does A glue?
a*: I glued the last piece on the {model ship|doll's house} yesterday.
b: How many is that now?
-----
a*: Sunday is for {birdwatching|sketching roofs}, I leave before it is light.
b: I leave my bed at ten.
-----
a*: The {choir|chess club} meets on Thursdays, come along for once.

multi | Which recipes does A make for an aunt and for everybody?
a*: For my aunt I made the {lentil stew|mushroom pie} again, it never fails.
b: I remember.
-----
a*: Everybody asked for the recipe of my {plum dumplings|lemon tart}.
b: Me too.

multi | What did the owner of A's house do about heating, raises and umbrellas?
a*: No heating since Monday. The owner of the house says it is me who turns it off.
b: The cheek.
-----
a*: Now he wants to raise what we pay by a fifth.
b: Can he?
-----
a*: He let himself in while I was away. I found his umbrella.

multi | What does A's mum say of the ward and the nurses?
a*: Mum hates the ward, she says that they wake her to ask whether she sleeps.
b: Mine was the same.
-----
a*: She likes the night nurse, though. They talk about roses.
b: That helps.

inference | Would A enjoy a holiday by the sea, with sand to climb on?
a*: Sand everywhere and nothing to climb. I was bored on day two, never again by the sea.
b: More room for me.

inference | Is A likely to miss the next council election?
a*: I have not missed one since I turned eighteen, my father would haunt me.
b: Even the small ones?
a: Those most of all.

inference | Does A earn more at the new place that pays for trains?
a*: The new place pays a third on top, and they throw in the train pass.
b: Drinks are on you then.

single | Which colour did A put on the bedroom walls?
a*: Two coats of {mustard|dark green|salmon} on the walls, and it still looks like a mistake.
b: Sleep in it first.

single | Which sport did A's knee end?
a*: The knee decided for me: no more {squash|handball|fencing}.
b: I am sorry. Twenty years?
a: Twenty-two.

single | What does the doctor think A's headaches come from?
a*: She thinks that it comes from {my teeth, I grind them|the new glasses|sitting like a question mark}.
b: So no brain missing.
a: Not more than before.

single | Whom did they put into one office with A?
a*: They put me in with {Rasmus from accounts|the new apprentice|a man who hums}, door closed, one window.
b: And?
a: We have agreed on silence.

single | What was gone when A went to the police?
a*: Gone! The {bicycle|saddle bag|camera} was there at noon and at two it was not.
b: Did you go to the police?
a: They gave me a number.
`;

/** What is said beside it. It shares words with the questions, as small talk does. */
export const CHATTER = `
Morning! How did you sleep?
Not long enough, and you?
The tram was full again.
I had the soup, it was fine.
What are you doing this weekend?
Nothing much, and I look forward to it.
It has been raining since Tuesday.
Did you see the match?
Only the second half, and I regret that.
My phone keeps dying at forty per cent.
Let me know when you are home.
Home now. Feet up.
That is what my mother always says.
I do not know what to cook tonight.
Toast. The answer is always toast.
Work was long. They moved the meeting twice.
The new one is nice, she brought cake.
I should call my sister back.
Do you still have my drill?
Yes, and I will bring it, I promise.
You promised that in spring.
Haha, fair.
I saw a dog today that looked like our old teacher.
Which one?
The dog or the teacher?
Are you feeling better?
A little. The cough is still there.
Drink something hot.
Coffee counts.
I need a holiday.
Where would you go?
Anywhere without a screen.
We could drive out to the lake.
If the car starts.
How are the children?
Loud, well, growing out of their shoes.
I read half a page and fell asleep.
The neighbours are drilling again.
I bought the wrong size, twice.
Send it back.
I lost the receipt.
Typical.
Tell me about your day.
There is little to tell, to be honest.
The office was empty, I liked that.
I started to clean the cellar and stopped.
What did you find?
Skis. We do not ski.
Happy Friday!
Is it Friday?
It is somewhere.
My doctor says that I should walk more.
Mine says so as well.
I will think about it and let you know.
That sounds like a plan.
Good night, sleep well.
You too. Talk tomorrow.
Somebody left the gate open again.
I made a list, and then I lost the list.
Did the parcel come?
It came, and it was not ours.
We watched that film you mentioned.
And?
Two people talk in a kitchen for an hour. I loved it.
The bakery changed its hours, I stood there like a fool.
I have to go, the kettle.
`;
