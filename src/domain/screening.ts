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
const answerWords = ['not at all', 'several days', 'more than half the days', 'nearly every day']

/** The score of an answer in the PHQ-9's own words, or of 0 to 3; null for any other. */
export function scoreOf(answer: string): number | null {
  const text = fold(answer)
  if (/^[0-3]$/.test(text)) return Number(text)
  const score = answerWords.indexOf(text)
  return score === -1 ? null : score
}

/** Scores a screening; what is not known to be a PHQ-9, answered in its own words, gets no severity. */
export function scoreScreening(answers: readonly ScreeningAnswer[]): ScreeningScore {
  const places = answers.map(({ question, answer }, index) => ({
    place: index + 1,
    question: fold(question),
    score: scoreOf(answer),
  }))
  // How difficult all this makes life is asked after the nine, in words of its own, and is never counted.
  const items = places.filter(({ question }) => !question.includes('how difficult'))
  const scores = items.flatMap(({ score }) => score ?? [])
  const total = scores.length === 0 ? null : scores.reduce((sum, score) => sum + score, 0)
  const questions = new Set(items.map(({ question }) => question))
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
  readonly question: string
  readonly score: number | null
}

// The standard words first, then what a paraphrase of them is likely to say.
const ninthWords =
  /better off|hurt(ing)? (your|my)self|\bharm|\bself-?harm|suicid|\bkill|\bdead\b|\bdie\b|\bdying\b|\bend (it|(your|my) life)\b|worth living/

// What the other eight ask, each by the words that every edition of it has.
const otherWords =
  /little interest|depressed|\bsleep|\btired\b|\bappetite\b|\bovereating\b|bad about (your|my)self|\bconcentrat|\bmoving\b/

/** By its words, wherever it stands; else the last of nine. What is neither is unclear unless it is known. */
function ninthItemOf(items: readonly Item[]): NinthItem {
  const worded = items.filter(({ question }) => ninthWords.test(question))
  const found = worded.length > 0 ? worded : items.length === itemCount ? items.slice(-1) : []
  if (found.some(({ score }) => score !== null && score > 0)) return 'non-zero'
  if (found.some(({ score }) => score === null)) return 'unclear'
  if (found.length > 0) return 'zero'
  return items.every(({ question }) => otherWords.test(question)) ? 'not asked' : 'unclear'
}

function fold(text: string): string {
  return text.trim().replace(/\s+/g, ' ').toLowerCase()
}
