import type { ScreeningAnswer } from './booking-request'
import { memo } from './memo'

/** The PHQ-9 severity bands with their lowest totals (Kroenke, Spitzer, Williams 2001). */
const bands = [
  { least: 20, severity: 'severe' },
  { least: 15, severity: 'moderately severe' },
  { least: 10, severity: 'moderate' },
  { least: 5, severity: 'mild' },
  { least: 0, severity: 'minimal' },
] as const

type Severity = (typeof bands)[number]['severity']

/** The item on thoughts of death or self-harm. `unclear` means that a person must read the answers. */
export type NinthItem = 'non-zero' | 'zero' | 'unclear' | 'not asked'

export interface ScreeningScore {
  /** The sum of the scores; null if no answer is readable. */
  readonly total: number | null
  readonly readCount: number
  /** True for nine different items with readable answers. Otherwise, `severity` is null. */
  readonly isComplete: boolean
  readonly severity: Severity | null
  /** The positions of the unreadable answers, counted from 1. */
  readonly unread: readonly number[]
  readonly ninthItem: NinthItem
}

const itemCount = 9

/** The published answers for scores 0 to 3, in English, French and Spanish. Written as foldText returns them. */
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

/** Returns the score of an answer: a digit from 0 to 3, or a PHQ-9 answer text. Returns null for other texts. */
export function scoreOf(answer: string): number | null {
  const text = foldText(answer)
  return /^[0-3]$/.test(text) ? Number(text) : (scoreOfWords.get(text) ?? null)
}

/** Scores a screening. The severity is null if the screening is not complete. */
export function scoreScreening(answers: readonly ScreeningAnswer[]): ScreeningScore {
  const answered = answers.map(({ question, answer }, index) => ({
    position: index + 1,
    subject: subjectOfQuestion(question),
    score: scoreOf(answer),
  }))
  // The PHQ-9 asks about functional difficulty after the nine items. That answer is never counted.
  const items = answered.filter(({ subject }) => subject.category !== 'difficulty')
  const scores = items.flatMap(({ score }) => score ?? [])
  const total = scores.length === 0 ? null : scores.reduce((sum, score) => sum + score, 0)
  const questions = new Set(items.map(({ subject }) => subject.words))
  const isComplete = [scores.length, items.length, questions.size].every((count) => count === itemCount)
  return {
    total,
    readCount: scores.length,
    isComplete,
    severity: isComplete ? severityOf(total as number) : null,
    unread: items.filter(({ score }) => score === null).map(({ position }) => position),
    ninthItem: ninthItemOf(items),
  }
}

function severityOf(total: number): Severity {
  return (bands.find(({ least }) => total >= least) as (typeof bands)[number]).severity
}

interface Item {
  readonly subject: Subject
  readonly score: number | null
}

interface Subject {
  readonly words: string
  /** The index into `otherItems`; null for the ninth item and unrecognized questions. */
  readonly item: number | null
  /** A question of the category `unknown` may be the ninth item. */
  readonly category:
    | 'ninth item'
    | 'paraphrased ninth'
    | 'negated ninth'
    | 'another item'
    | 'difficulty'
    | 'unknown'
}

// Cached, because partners send the same questions every time.
const subjectOfQuestion = memo(1_000, (question): Subject => {
  const words = foldQuestion(question)
  const category = categoryOf(words)
  const item = category === 'another item' ? otherItems.findIndex((each) => each.test(words)) : null
  return { words, item, category }
})

function categoryOf(words: string): Subject['category'] {
  if (ninthWords.test(words)) {
    if (negatingWords.test(words)) return 'negated ninth'
    return publishedNinth.test(words) ? 'ninth item' : 'paraphrased ninth'
  }
  if (wordsOfLife.test(words)) return 'unknown'
  if (difficultyWords.test(words)) return 'difficulty'
  return otherItems.some((item) => item.test(words)) ? 'another item' : 'unknown'
}

function anyOf(...expressions: readonly RegExp[]): RegExp {
  return new RegExp(expressions.map(({ source }) => source).join('|'))
}

// Words of the ninth item in English, French and Spanish, including likely paraphrases.
const ninthWords = anyOf(
  /better off|(hurt(ing)?|cut(ting)?) (your|my)self(?! off)|\bself ?injur|\bharm|\bself ?harm|suicid|\bkill|\bdead\b|\bdeath|ideation|\bdie\b|\bdying\b/,
  /\b(end|ending|tak(e|ing)) (it( all)?|(your|my)( own)? life)\b|worth living/,
  /\bmort(e|es|s)?\b|\bmourir\b|\bblesser\b|faire (du )?mal\b|\b(vous|me|se) tuer\b|\ben finir\b|fin a (mes|ses|vos) jours/,
  /\bmuert[oae]|\bmorir|\blastim|\bdano\b|\bherir|\bmatar|quitar\w* la vida|con (mi|su|tu) vida/,
)

/** Published wordings of the ninth item. A match identifies the ninth item for certain. */
const publishedNinth = anyOf(
  /better off dead/,
  /mieux (mort|mourir)|preferable de mourir/,
  /mejor (estar )?muert|preferi\w* estar muert/,
)

/** Matches negated questions, such as "life is worth living". For these, the answer zero does not mean zero risk. */
const negatingWords = anyOf(
  /\b(no|not(?! at all)|never|none|without|\w+n't|safe)\b|worth living/,
  /\b(ne|n'\w+|pas(?! du tout)|aucune?|sans)\b/,
  /\b(ningun(?! dia)|ninguna|nunca|sin)\b/,
)

// With these words, even a question about sleep may be the ninth item: "going to sleep and never waking up".
const wordsOfLife = anyOf(
  /\b(life|live|living|alive|exist\w*|disappear\w*|end|ending|giv(e|ing) up|(go|going|carry|carrying|keep|keeping) on|keep(ing)? going|be here|forever)\b/,
  /(\b(not|never)|n't) a?wak|\bsafe|\burge/,
  /\b(vie|vivre|disparaitre|reveiller|ne (plus )?(me |se )?reveille|pour toujours|a jamais)\b/,
  /\b(vida|vivir|viviendo|desaparecer|despertar|no (me |se )?despierte|para siempre)\b/,
)

// The other eight PHQ-9 items. These words appear in every edition.
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
 * Finds the ninth item by words, or as the last of nine questions. The match is certain for numbered questions, or for
 * the published wording. Otherwise, `zero` requires the answer zero to all questions that may be the ninth item.
 */
function ninthItemOf(items: readonly Item[]): NinthItem {
  const byWords = items.filter(({ subject }) => isLikeNinth(subject))
  const repeated = itemsWithTwoWordings(items)
  const candidates = items.filter(({ subject }) => subject.item === null || repeated.has(subject.item))
  if (candidates.length === 0) return 'not asked'
  const isNumbered = areNumbered(items)
  const last = candidates.filter((item) => items.length === itemCount && item === items.at(-1))
  const matches = byWords.length === 0 || isNumbered ? [...byWords, ...last] : byWords
  if (matches.some(({ score }) => score !== null && score > 0)) return 'non-zero'
  if (
    matches.length === 0 ||
    matches.some(({ score, subject }) => score === null || subject.category === 'negated ninth')
  ) {
    return 'unclear'
  }
  const isKnown = isNumbered || matches.some(({ subject }) => subject.category === 'ninth item')
  return isKnown || candidates.every(({ score }) => score === 0) ? 'zero' : 'unclear'
}

/** Returns the items that were asked in two wordings. One of the two questions may be the ninth item. */
function itemsWithTwoWordings(items: readonly Item[]): ReadonlySet<number> {
  const wordings = new Map<number, string>()
  const repeated = new Set<number>()
  for (const { subject } of items) {
    if (subject.item === null) continue
    const words = wordings.get(subject.item)
    if (words === undefined) wordings.set(subject.item, subject.words)
    else if (words !== subject.words) repeated.add(subject.item)
  }
  return repeated
}

function isLikeNinth({ category }: Subject): boolean {
  return category === 'ninth item' || category === 'paraphrased ninth' || category === 'negated ninth'
}

/** Returns true for nine questions numbered 1 to 9 in order. The last question is then the ninth item. */
function areNumbered(items: readonly Item[]): boolean {
  const numbers = items.map(({ subject }) => subject.words.match(/\d+/g) ?? [])
  const isInOrder = (position: number) =>
    numbers.every((found, index) => found.at(position) === `${index + 1}`)
  return items.length === itemCount && (isInOrder(0) || isInOrder(-1))
}

/** Returns lower-case text without accents and with single spaces. */
function foldText(text: string): string {
  const plain = isAscii.test(text) ? text : text.normalize('NFD').replace(accents, '')
  return plain.trim().replace(/\s+/g, ' ').toLowerCase()
}

const isAscii = /^[\x20-\x7e]*$/

/** The accents of French and Spanish. Other marks are kept, because a strikethrough may change the meaning. */
const accents = /[\u0300-\u0303\u0308\u0327]/g

/** Returns lower-case words. Splits camelCase names and removes invisible characters from web pages. */
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

/** The risk of a screening, for triage. */
export interface Risk {
  readonly ninthItem: NinthItem
  readonly severity: Severity | null
  /** The sort key of the request queue; the highest is the most urgent. */
  readonly urgency: number
}

const urgencyOf: Record<NinthItem, number> = { 'non-zero': 2, unclear: 1, zero: 0, 'not asked': 0 }

/**
 * Returns the risk. Urgency depends on the ninth item first, then on the severity. An unreadable answer counts as the
 * highest score, so that unusual words never delay help.
 * @param answers null if the answers cannot be decrypted. The ninth item is then unclear
 */
export function riskOf(answers: readonly ScreeningAnswer[] | null): Risk {
  if (!answers) return { ninthItem: 'unclear', severity: null, urgency: positionOf('unclear', worstTotal) }
  const { ninthItem, severity, total, unread } = scoreScreening(answers)
  const worst = Math.min(worstTotal, (total ?? 0) + 3 * unread.length)
  return { ninthItem, severity, urgency: positionOf(ninthItem, worst) }
}

/** Returns true if the screening may report thoughts of death or self-harm. Staff must look at this request first. */
export function isAtRisk(risk: Risk | null): boolean {
  return risk?.ninthItem === 'non-zero' || risk?.ninthItem === 'unclear'
}

const worstTotal = 3 * itemCount

function positionOf(ninthItem: NinthItem, total: number): number {
  const band = bands.findIndex(({ least }) => total >= least)
  return urgencyOf[ninthItem] * bands.length + (bands.length - 1 - band)
}
