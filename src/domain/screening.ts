import type { ScreeningAnswer } from './booking-request'
import { memo } from './memo'

/** The standard bands of a PHQ-9's total, each from its least total on (Kroenke, Spitzer, Williams 2001). */
const bands = [
  { least: 20, severity: 'severe' },
  { least: 15, severity: 'moderately severe' },
  { least: 10, severity: 'moderate' },
  { least: 5, severity: 'mild' },
  { least: 0, severity: 'minimal' },
] as const

export type Severity = (typeof bands)[number]['severity']

/**
 * How the ninth item, thoughts of being better off dead or of self-harm, was answered. `unclear` is one whose
 * answer cannot be read, or a screening in which it may stand unrecognized: a person has to look.
 */
export type NinthItem = 'non-zero' | 'zero' | 'unclear' | 'not asked'

/** What can be said of a screening without guessing. */
export interface ScreeningScore {
  /** The sum of the answers that could be read; null if there are none. */
  readonly total: number | null
  readonly readCount: number
  /** Whether the total is of nine different items, all of them read: only then is there a severity. */
  readonly isComplete: boolean
  readonly severity: Severity | null
  /** The places, from 1, of the answers that could not be read. */
  readonly unread: readonly number[]
  readonly ninthItem: NinthItem
}

const itemCount = 9

/**
 * The answers, folded, from 0 to 3: in English and as the translations into French (of France, of Canada) and Spanish
 * (of the Americas, of Spain) were published.
 */
const answerWords: readonly (readonly string[])[] = [
  ['not at all', 'jamais', 'ningun dia', 'para nada', 'nunca'],
  ['several days', 'plusieurs jours', 'varios dias'],
  [
    'more than half the days',
    'plus de la moitie du temps',
    'plus de la moitie des jours',
    'plus de sept jours',
    'mas de la mitad de los dias',
  ],
  ['nearly every day', 'presque tous les jours', 'casi todos los dias'],
]
const scoreOfWords = new Map(answerWords.flatMap((words, score) => words.map((text) => [text, score])))

/** The score of an answer in the PHQ-9's own words, or of 0 to 3; null for any other. */
export function scoreOf(answer: string): number | null {
  const text = foldText(answer)
  return /^[0-3]$/.test(text) ? Number(text) : (scoreOfWords.get(text) ?? null)
}

/** Scores a screening; what is not known to be a PHQ-9, answered in its own words, gets no severity. */
export function scoreScreening(answers: readonly ScreeningAnswer[]): ScreeningScore {
  const places = answers.map(({ question, answer }, index) => ({
    place: index + 1,
    asked: askedBy(question),
    score: scoreOf(answer),
  }))
  // How difficult all this makes life is asked after the nine, in words of its own, and is never counted.
  const items = places.filter(({ asked }) => asked.about !== 'difficulty')
  const scores = items.flatMap(({ score }) => score ?? [])
  const total = scores.length === 0 ? null : scores.reduce((sum, score) => sum + score, 0)
  const questions = new Set(items.map(({ asked }) => asked.words))
  const isComplete = [scores.length, items.length, questions.size].every((count) => count === itemCount)
  return {
    total,
    readCount: scores.length,
    isComplete,
    severity: isComplete ? severityOf(total as number) : null,
    unread: items.filter(({ score }) => score === null).map(({ place }) => place),
    ninthItem: ninthItemOf(items),
  }
}

function severityOf(total: number): Severity {
  return (bands.find(({ least }) => total >= least) as (typeof bands)[number]).severity
}

interface Item {
  readonly asked: Subject
  readonly score: number | null
}

/** What a question is known to ask. */
interface Subject {
  /** The question, folded. */
  readonly words: string
  /** Which of the other eight, by its place among them. */
  readonly item: number | null
  /** In the published words, in a paraphrase of them, or in words that turn a zero round; `unknown` may be the ninth too. */
  readonly about:
    | 'ninth item'
    | 'like the ninth'
    | 'reversed ninth'
    | 'another item'
    | 'difficulty'
    | 'unknown'
}

// Partners ask the same of everybody, and a queue of thousands is put in order at once.
const askedBy = memo(1_000, (question): Subject => {
  const words = foldQuestion(question)
  const about = subjectOf(words)
  const item = about === 'another item' ? otherItems.findIndex((each) => each.test(words)) : null
  return { words, item, about }
})

function subjectOf(words: string): Subject['about'] {
  if (ninthWords.test(words)) {
    if (reversingWords.test(words)) return 'reversed ninth'
    return publishedNinth.test(words) ? 'ninth item' : 'like the ninth'
  }
  if (wordsOfLife.test(words)) return 'unknown'
  if (difficultyWords.test(words)) return 'difficulty'
  return otherItems.some((item) => item.test(words)) ? 'another item' : 'unknown'
}

/** Expressions as one, of which any will do. All are of folded words. */
function anyOf(...expressions: readonly RegExp[]): RegExp {
  return new RegExp(expressions.map(({ source }) => source).join('|'))
}

// Of each language the standard words first, then what a paraphrase of them is likely to say.
const ninthWords = anyOf(
  /better off|(hurt(ing)?|cut(ting)?) (your|my)self(?! off)|\bself ?injur|\bharm|\bself ?harm|suicid|\bkill|\bdead\b|\bdeath|ideation|\bdie\b|\bdying\b/,
  /\b(end|ending|tak(e|ing)) (it( all)?|(your|my)( own)? life)\b|worth living/,
  /\bmort(e|es|s)?\b|\bmourir\b|\bblesser\b|faire (du )?mal\b|\b(vous|me|se) tuer\b|\ben finir\b|fin a (mes|ses|vos) jours/,
  /\bmuert[oae]|\bmorir|\blastim|\bdano\b|\bherir|\bmatar|quitar\w* la vida|con (mi|su|tu) vida/,
)

/** What no other question says: where it is asked so, no question in other words is the ninth. */
const publishedNinth = anyOf(
  /better off dead/,
  /mieux (mort|mourir)|preferable de mourir/,
  /mejor (estar )?muert|preferi\w* estar muert/,
)

/** Who agrees with what has not been thought, or with what is worth living for, answers with more than zero. */
const reversingWords = anyOf(
  /\b(no|not(?! at all)|never|none|without|\w+n't|safe)\b|worth living/,
  /\b(ne|n'\w+|pas(?! du tout)|aucune?|sans)\b/,
  /\b(ningun(?! dia)|ninguna|nunca|sin)\b/,
)

// A question that has words of another item and of these too may be the ninth: going to sleep and never waking up.
const wordsOfLife = anyOf(
  /\b(life|live|living|alive|exist\w*|disappear\w*|end|ending|giv(e|ing) up|(go|going|carry|carrying|keep|keeping) on|keep(ing)? going|be here|forever)\b/,
  /(\b(not|never)|n't) a?wak|\bsafe|\burge/,
  /\b(vie|vivre|disparaitre|reveiller|ne (plus )?(me |se )?reveille|pour toujours|a jamais)\b/,
  /\b(vida|vivir|viviendo|desaparecer|despertar|no (me |se )?despierte|para siempre)\b/,
)

// What the other eight ask, each by the words that every edition of it has.
const otherItems: readonly RegExp[] = [
  /little interest|peu d'interet|poco interes/,
  /depressed|deprime|deprimid/,
  /\bsleep|sommeil|dormi|\bsueno\b/,
  /\btired\b|fatigue|cansad/,
  /\bappetite\b|\bovereating\b|d'appetit|apetito/,
  /bad about (your|my)self|\bperdant|mauvaise (opinion|perception)|\bfracas/,
  /\bconcentr/,
  /\bmoving\b|\bbouge|\bmov(er|id|iend)/,
]

const difficultyWords =
  /^(?=.*problem).*(how difficult|(a quel point|dans quelle mesure).*difficile|(que tan|cuan) dificil|(que tanta|con que) dificultad)/

/**
 * By its words, wherever it stands; else the last of nine. It is zero only where no question that may be it was answered
 * otherwise: a paraphrase may be of something else, and unknown words may be in any order.
 */
function ninthItemOf(items: readonly Item[]): NinthItem {
  const worded = items.filter(({ asked }) => isLikeNinth(asked))
  const twice = itemsAskedTwice(items)
  const candidates = items.filter(({ asked }) => asked.item === null || twice.has(asked.item))
  if (candidates.length === 0) return 'not asked'
  const isNumbered = areNumbered(items)
  const last = candidates.filter((item) => items.length === itemCount && item === items.at(-1))
  const found = worded.length === 0 || isNumbered ? [...worded, ...last] : worded
  if (found.some(({ score }) => score !== null && score > 0)) return 'non-zero'
  if (
    found.length === 0 ||
    found.some(({ score, asked }) => score === null || asked.about === 'reversed ninth')
  ) {
    return 'unclear'
  }
  const isKnown = isNumbered || found.some(({ asked }) => asked.about === 'ninth item')
  return isKnown || candidates.every(({ score }) => score === 0) ? 'zero' : 'unclear'
}

/** Which of the other eight are asked in more than one wording: one may be the ninth, and name another by the way. */
function itemsAskedTwice(items: readonly Item[]): ReadonlySet<number> {
  const wordings = new Map<number, string>()
  const twice = new Set<number>()
  for (const { asked } of items) {
    if (asked.item === null) continue
    const words = wordings.get(asked.item)
    if (words === undefined) wordings.set(asked.item, asked.words)
    else if (words !== asked.words) twice.add(asked.item)
  }
  return twice
}

function isLikeNinth({ about }: Subject): boolean {
  return about === 'ninth item' || about === 'like the ninth' || about === 'reversed ninth'
}

/** Whether they are nine that are numbered from 1 on, in order: the last is the ninth then, whatever its words. */
function areNumbered(items: readonly Item[]): boolean {
  const numbers = items.map(({ asked }) => asked.words.match(/\d+/g) ?? [])
  const isInOrder = (place: number) => numbers.every((found, index) => found.at(place) === `${index + 1}`)
  return items.length === itemCount && (isInOrder(0) || isInOrder(-1))
}

/** In small letters without accents, however they are composed. */
function foldText(text: string): string {
  // Most texts have nothing to take away.
  const plain = isAscii.test(text) ? text : text.normalize('NFD').replace(accents, '')
  return plain.trim().replace(/\s+/g, ' ').toLowerCase()
}

const isAscii = /^[\x20-\x7e]*$/

/** Those of French and Spanish: other marks, as one that strikes a letter through, may say something else. */
const accents = /[\u0300-\u0303\u0308\u0327]/g

/**
 * The words of a question alone, however they are joined, each apostrophe the plain one: a field's name is a question
 * too, and what was copied from a page holds what nobody sees.
 */
function foldQuestion(text: string): string {
  return text
    .normalize('NFKD')
    .replace(/[\p{M}\p{Cf}\p{Default_Ignorable_Code_Point}]/gu, '')
    .replace(/[\u2018\u2019]/g, "'")
    .replace(/(?<=\p{Ll})(?=\p{Lu})/gu, ' ')
    .replace(/[^\p{L}\p{N}']+/gu, ' ')
    .trim()
    .toLowerCase()
}

/** What a screening says of how soon somebody should be seen to. */
export interface Risk {
  readonly ninthItem: NinthItem
  /** Null where none can be told. */
  readonly severity: Severity | null
  /** By which requests are put in order, the most urgent first. */
  readonly urgency: number
}

const urgencyOf: Record<NinthItem, number> = { 'non-zero': 2, unclear: 1, zero: 0, 'not asked': 0 }

/**
 * The risk that a screening tells of: by the ninth item, then by severity. An answer that cannot be read counts as the
 * worst there is, so that nobody waits for having answered in other words.
 *
 * @param answers null for those that cannot be opened, which are for a person to look at
 */
export function riskOf(answers: readonly ScreeningAnswer[] | null): Risk {
  if (!answers) return { ninthItem: 'unclear', severity: null, urgency: positionOf('unclear', worstTotal) }
  const { ninthItem, severity, total, unread } = scoreScreening(answers)
  const worst = Math.min(worstTotal, (total ?? 0) + 3 * unread.length)
  return { ninthItem, severity, urgency: positionOf(ninthItem, worst) }
}

/** Whether a person has to look before all else: the ninth item is not zero, or nobody can tell. */
export function isAtRisk(risk: Risk | null): boolean {
  return risk?.ninthItem === 'non-zero' || risk?.ninthItem === 'unclear'
}

const worstTotal = 3 * itemCount

function positionOf(ninthItem: NinthItem, total: number): number {
  const band = bands.findIndex(({ least }) => total >= least)
  return urgencyOf[ninthItem] * bands.length + (bands.length - 1 - band)
}
