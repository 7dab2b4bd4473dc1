import { describe, expect, test } from 'bun:test'
import { scoreOf, scoreScreening } from '../../src/domain/screening'

const standardQuestions = [
  'Little interest or pleasure in doing things',
  'Feeling down, depressed, or hopeless',
  'Trouble falling or staying asleep, or sleeping too much',
  'Feeling tired or having little energy',
  'Poor appetite or overeating',
  'Feeling bad about yourself - or that you are a failure or have let yourself or your family down',
  'Trouble concentrating on things, such as reading the newspaper or watching television',
  'Moving or speaking so slowly that other people could have noticed? Or the opposite',
  'Thoughts that you would be better off dead, or of hurting yourself in some way',
]

/** The standard questions, answered in order; questions of one's own where given. */
const answered = (answers: readonly (string | number)[], questions = standardQuestions) =>
  answers.map((answer, place) => ({ question: questions[place] ?? '', answer: String(answer) }))

const totalling = (total: number) =>
  answered(Array.from({ length: 9 }, (_, place) => Math.max(0, Math.min(3, total - 3 * place))))

describe('an answer', () => {
  test.each([
    ['Not at all', 0],
    ['SEVERAL DAYS', 1],
    ['  more  than half\tthe days ', 2],
    ['nearly every day', 3],
    ['0', 0],
    [' 3 ', 3],
  ])('%p is read as %p', (answer, score) => expect(scoreOf(answer)).toBe(score))

  test.each(['4', '-1', '1.0', '', 'often', 'not at all, several days', 'Plusieurs jours', '١'])(
    '%p is not read',
    (answer) => expect(scoreOf(answer)).toBeNull(),
  )
})

describe('the severity', () => {
  test.each([
    [0, 'minimal'],
    [4, 'minimal'],
    [5, 'mild'],
    [9, 'mild'],
    [10, 'moderate'],
    [14, 'moderate'],
    [15, 'moderately severe'],
    [19, 'moderately severe'],
    [20, 'severe'],
    [27, 'severe'],
  ] as const)('of a total of %p is %p', (total, severity) =>
    expect(scoreScreening(totalling(total))).toMatchObject({ total, severity, isComplete: true, unread: [] }),
  )

  test('is not claimed where an answer cannot be read, and the total is of the others', () => {
    const score = scoreScreening(answered([1, 1, 'often', 1, 1, 1, 1, 'rarely', 0]))
    expect(score).toMatchObject({ total: 6, readCount: 7, isComplete: false, severity: null, unread: [3, 8] })
  })

  test.each([
    ['eight items', answered([3, 3, 3, 3, 3, 3, 3, 3])],
    ['ten items', [...totalling(9), { question: 'Anything else', answer: '3' }]],
    ['nine items, one of them twice', answered(Array(9).fill(1), Array(9).fill('Feeling tired'))],
  ])('is not claimed for %s', (_, answers) => expect(scoreScreening(answers).severity).toBeNull())

  test('leaves out the question of how difficult it all is, which has no score', () => {
    const difficulty = {
      question: 'How difficult have these problems made it?',
      answer: 'Somewhat difficult',
    }
    const score = scoreScreening([...totalling(12), difficulty])
    expect(score).toMatchObject({ total: 12, severity: 'moderate', unread: [] })
  })
})

describe('the ninth item', () => {
  const words = standardQuestions[8] as string
  const unknown = Array(9).fill('?')

  test.each([
    ['the standard words answered with not at all', totalling(9), 'zero'],
    ['the standard words answered with several days', answered([0, 0, 0, 0, 0, 0, 0, 0, 1]), 'non-zero'],
    ['words that cannot be read', answered([0, 0, 0, 0, 0, 0, 0, 0, 'yes']), 'unclear'],
    [
      'the words in another place',
      [{ question: words.toUpperCase(), answer: '2' }, ...totalling(0)],
      'non-zero',
    ],
    ['the words alone', [{ question: words, answer: '3' }], 'non-zero'],
    ['a paraphrase', [{ question: 'Thoughts of suicide or self-harm?', answer: '1' }], 'non-zero'],
    [
      'the last of nine questions in unknown words',
      answered([0, 0, 0, 0, 0, 0, 0, 0, 2], unknown),
      'non-zero',
    ],
    ['the words twice, one non-zero', [0, 2].map((n) => ({ question: words, answer: `${n}` })), 'non-zero'],
    ['fewer than nine in unknown words', answered([0, 0], unknown), 'unclear'],
    ['more than nine in unknown words', Array(11).fill({ question: '?', answer: '0' }), 'unclear'],
    ['eight other standard items', answered([3, 3, 3, 3, 3, 3, 3, 3]), 'not asked'],
  ] as const)('%s', (_, answers, expected) => expect(scoreScreening(answers).ninthItem).toBe(expected))

  test('of no answers at all is not asked, and there is no total', () => {
    expect(scoreScreening([])).toEqual({
      total: null,
      readCount: 0,
      isComplete: false,
      severity: null,
      unread: [],
      ninthItem: 'not asked',
    })
  })
})
