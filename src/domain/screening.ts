import type { ScreeningAnswer } from './booking-request'

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
  const text = fold(answer)
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
  readonly asked: Asked
  readonly score: number | null
}

/** What a question is known to ask. */
interface Asked {
  /** The question, folded. */
  readonly words: string
  readonly about: 'ninth item' | 'another item' | 'difficulty' | 'unknown'
}

// The questions that were read: partners ask the same of everybody, and a queue of thousands is put in order at once.
const knownQuestions = new Map<string, Asked>()
const mostQuestions = 1_000

function askedBy(question: string): Asked {
  const known = knownQuestions.get(question)
  if (known) return known
  const words = fold(question)
  const asked: Asked = { words, about: subjectOf(words) }
  if (knownQuestions.size >= mostQuestions) knownQuestions.clear()
  knownQuestions.set(question, asked)
  return asked
}

function subjectOf(words: string): Asked['about'] {
  if (ninthWords.test(words)) return 'ninth item'
  if (difficultyWords.test(words)) return 'difficulty'
  return otherWords.test(words) ? 'another item' : 'unknown'
}

// Of each language the standard words first, then what a paraphrase of them is likely to say. All are folded.
const ninthWords = new RegExp(
  [
    /better off|hurt(ing)? (your|my)self|\bharm|\bself-?harm|suicid|\bkill|\bdead\b|\bdie\b|\bdying\b/,
    /\bend (it|(your|my) life)\b|worth living/,
    /\bmort(e|es|s)?\b|\bmourir\b|\bblesser\b|faire (du )?mal\b|\b(vous|me|se) tuer\b|\ben finir\b|fin a (mes|ses|vos) jours/,
    /\bmuert[oa]|\bmorir|\blastim|\bdano\b|\bherir|\bmatar|quitar\w* la vida|con (mi|su|tu) vida/,
  ]
    .map(({ source }) => source)
    .join('|'),
)

// What the other eight ask, each by the words that every edition of it has.
const otherWords = new RegExp(
  [
    /little interest|depressed|\bsleep|\btired\b|\bappetite\b|\bovereating\b|bad about (your|my)self|\bconcentr|\bmoving\b/,
    /peu d'interet|deprime|sommeil|dormi|fatigue|d'appetit|\bperdant|mauvaise (opinion|perception)|\bbouge/,
    /poco interes|deprimid|\bsueno\b|cansad|apetito|\bfracas|\bmov(er|id|iend)/,
  ]
    .map(({ source }) => source)
    .join('|'),
)

const difficultyWords =
  /how difficult|(a quel point|dans quelle mesure).*difficile|(que tan|cuan|con que) dificil|que tanta dificultad/

/** By its words, wherever it stands; else the last of nine. What is neither is unclear unless it is known. */
function ninthItemOf(items: readonly Item[]): NinthItem {
  const worded = items.filter(({ asked }) => asked.about === 'ninth item')
  const found = worded.length > 0 ? worded : items.length === itemCount ? items.slice(-1) : []
  if (found.some(({ score }) => score !== null && score > 0)) return 'non-zero'
  if (found.some(({ score }) => score === null)) return 'unclear'
  if (found.length > 0) return 'zero'
  return items.every(({ asked }) => asked.about === 'another item') ? 'not asked' : 'unclear'
}

/** In small letters without accents, however they are composed, each apostrophe the plain one. */
function fold(text: string): string {
  // Most texts have nothing to take away.
  const plain = isAscii.test(text) ? text : withoutAccents(text)
  return plain.trim().replace(/\s+/g, ' ').toLowerCase()
}

const isAscii = /^[\x20-\x7e]*$/

function withoutAccents(text: string): string {
  return text
    .normalize('NFD')
    .replace(/\p{M}/gu, '')
    .replace(/[\u2018\u2019]/g, "'")
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
  if (!answers) return { ninthItem: 'unclear', severity: null, urgency: placeOf('unclear', worstTotal) }
  const { ninthItem, severity, total, unread } = scoreScreening(answers)
  const worst = Math.min(worstTotal, (total ?? 0) + 3 * unread.length)
  return { ninthItem, severity, urgency: placeOf(ninthItem, worst) }
}

/** Whether a person has to look before all else: the ninth item is not zero, or nobody can tell. */
export function isAtRisk(risk: Risk | null): boolean {
  return risk?.ninthItem === 'non-zero' || risk?.ninthItem === 'unclear'
}

const worstTotal = 3 * itemCount

function placeOf(ninthItem: NinthItem, total: number): number {
  const band = bands.findIndex(({ least }) => total >= least)
  return urgencyOf[ninthItem] * bands.length + (bands.length - 1 - band)
}
