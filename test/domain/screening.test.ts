import { describe, expect, test } from 'bun:test'
import { riskOf, scoreOf, scoreScreening } from '../../src/domain/screening'

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

const answered = (answers: readonly (string | number)[], questions = standardQuestions) =>
  answers.map((answer, place) => ({ question: questions[place] ?? '', answer: String(answer) }))

const totalling = (total: number) =>
  answered(Array.from({ length: 9 }, (_, place) => Math.max(0, Math.min(3, total - 3 * place))))

describe('domain: a screening answer', () => {
  test.each([
    ['Not at all', 0],
    ['SEVERAL DAYS', 1],
    ['  more  than half\tthe days ', 2],
    ['nearly every day', 3],
    ['0', 0],
    [' 3 ', 3],
    ['Jamais', 0],
    ['Plusieurs jours', 1],
    ['Plus de la moitié du temps', 2],
    ['PLUS DE LA MOITIE DES JOURS', 2],
    ['Plus de sept jours', 2],
    ['Presque tous les jours', 3],
    ['Ningún día', 0],
    ['ningu\u0301n di\u0301a', 0],
    ['Ningun dia', 0],
    ['Para nada', 0],
    ['Nunca', 0],
    ['Varios días', 1],
    ['Más de la mitad de los días', 2],
    ['casi todos los dias', 3],
  ])('%p scores %p', (answer, score) => expect(scoreOf(answer)).toBe(score))

  test.each([
    '4',
    '-1',
    '1.0',
    '',
    'often',
    'not at all, several days',
    'Quelques jours',
    'Algunos días',
    'Gar nicht',
    'Plusieurs jours par an',
    '١',
  ])('%p cannot be read', (answer) => expect(scoreOf(answer)).toBeNull())
})

describe('domain: the severity of a screening', () => {
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

  test('is null if an answer cannot be read, and the total counts the other answers', () => {
    const score = scoreScreening(answered([1, 1, 'often', 1, 1, 1, 1, 'rarely', 0]))
    expect(score).toMatchObject({ total: 6, readCount: 7, isComplete: false, severity: null, unread: [3, 8] })
  })

  test.each([
    ['eight items', answered([3, 3, 3, 3, 3, 3, 3, 3])],
    ['ten items', [...totalling(9), { question: 'Anything else', answer: '3' }]],
    ['nine items with a repeated one', answered(Array(9).fill(1), Array(9).fill('Feeling tired'))],
  ])('is null for %s', (_, answers) => expect(scoreScreening(answers).severity).toBeNull())

  test('ignores the question about difficulty', () => {
    const difficulty = {
      question: 'How difficult have these problems made it?',
      answer: 'Somewhat difficult',
    }
    const score = scoreScreening([...totalling(12), difficulty])
    expect(score).toMatchObject({ total: 12, severity: 'moderate', unread: [] })
  })
})

describe('domain: the ninth item of a screening', () => {
  const words = standardQuestions[8] as string
  const unknown = Array(9).fill('?')

  test.each([
    ['in standard words with the answer not at all', totalling(9), 'zero'],
    ['in standard words with the answer several days', answered([0, 0, 0, 0, 0, 0, 0, 0, 1]), 'non-zero'],
    ['with an answer that cannot be read', answered([0, 0, 0, 0, 0, 0, 0, 0, 'yes']), 'unclear'],
    ['in another position', [{ question: words.toUpperCase(), answer: '2' }, ...totalling(0)], 'non-zero'],
    ['as the only question', [{ question: words, answer: '3' }], 'non-zero'],
    ['paraphrased', [{ question: 'Thoughts of suicide or self-harm?', answer: '1' }], 'non-zero'],
    [
      'as the last of nine questions in unknown words',
      answered([0, 0, 0, 0, 0, 0, 0, 0, 2], unknown),
      'non-zero',
    ],
    ['asked twice, once non-zero', [0, 2].map((n) => ({ question: words, answer: `${n}` })), 'non-zero'],
    ['among fewer than nine questions in unknown words', answered([0, 0], unknown), 'unclear'],
    [
      'among more than nine questions in unknown words',
      Array(11).fill({ question: '?', answer: '0' }),
      'unclear',
    ],
    ['missing after eight other standard items', answered([3, 3, 3, 3, 3, 3, 3, 3]), 'not asked'],
  ] as const)('%s is read correctly', (_, answers, expected) =>
    expect(scoreScreening(answers).ninthItem).toBe(expected),
  )

  const raised = (asked: string) => ({ question: asked, answer: '3' })
  const german = [
    'Wenig Interesse oder Freude an Ihren Tätigkeiten',
    'Niedergeschlagenheit, Schwermut oder Hoffnungslosigkeit',
    'Schwierigkeiten, ein- oder durchzuschlafen',
    'Müdigkeit oder Gefühl, keine Energie zu haben',
    'Verminderter Appetit oder übermäßiges Bedürfnis zu essen',
    'Schlechte Meinung von sich selbst; Gefühl, die Familie enttäuscht zu haben',
    'Schwierigkeiten, sich auf etwas zu konzentrieren',
    'Waren Ihre Bewegungen oder Ihre Sprache verlangsamt',
    'Gedanken, dass Sie lieber tot wären oder sich Leid zufügen möchten',
  ]

  test.each([
    [
      'a German article that is an English word of the ninth item',
      answered([1, 1, 1, 1, 1, 0, 1, 1, 3], german),
    ],
    ['unknown words in another order', [raised(german[8] as string), ...answered(Array(8).fill(0), german)]],
    ['numbered questions in reverse order', answered([3, 0, 0, 0, 0, 0, 0, 0, 0], [...'987654321'])],
    [
      'a paraphrase of something else',
      [{ question: 'Feeling half dead with fatigue', answer: '0' }, raised('Die Gedanken')],
    ],
    ['a question about others', [{ question: 'Harm to others', answer: '0' }, raised('Ideation')]],
    [
      'words of another item',
      [...totalling(0).slice(0, 8), raised('To go to sleep and never wake up'), raised('Else')],
    ],
    [
      'a second question in the words of another item',
      [...totalling(0).slice(0, 8), raised('Tired of it all'), ...totalling(0).slice(0, 1)],
    ],
    ['words of tiredness', [raised('Tired of living')]],
    ['words of difficulty', [raised('How difficult is it to stay here?')]],
    ['an English negation', [{ question: 'I never think of suicide', answer: '0' }]],
    ['a French negation', [{ question: 'Je ne pense pas à mourir', answer: '0' }]],
    ['a life that is worth living', [{ question: 'Life is worth living', answer: '0' }]],
    ['an answer that is struck through', [{ question: words, answer: 'N\u0336o\u0336t at all' }]],
  ])('is non-zero or unclear for %s', (_, answers) =>
    expect(scoreScreening(answers).ninthItem).toMatch(/^(non-zero|unclear)$/),
  )

  test.each([
    'better_off_dead',
    'betterOffDead',
    'self-harm',
    'Thoughts that you would be better\u00a0off de\u00adad',
    'Thoughts that you would be better off\u200b dead',
    '\uff44\uff45\uff41\uff44',
    'Thoughts of ending it all',
    'Thoughts of taking your own life',
    'Wanting to end it',
    'Wanting to take my life',
    'My family would be better off if I were gone',
    'Thoughts of hurting yourself',
    'Wanting to hurt myself',
    'Fear that you may come to harm',
    'Selfharm',
    'Suicidal thoughts',
    'Thoughts of sui\u00adcide',
    'Thoughts of sui\u3164cide',
    'Thoughts of killing yourself',
    'Thinking about death',
    'Ideation in the past two weeks',
    'Wishing to die',
    'Thoughts of dying',
    'That it is hardly worth living',
    'Penser à la mort',
    'Souhaiter être morte',
    'Rejoindre ses morts',
    'Que nous soyons mortes',
    'Envie de mourir',
    'Envie de me blesser',
    'Envie de vous faire du mal',
    'Envie de me faire mal',
    'Envie de me tuer',
    'Envie de vous tuer',
    'Envie de se tuer',
    'Envie d\u2019en finir',
    'Mettre fin à mes jours',
    'Mettre fin à ses jours',
    'Mettre fin à vos jours',
    'Desear estar muerto',
    'Deseos de morir',
    'Ganas de lastimarme',
    'Ganas de hacerse daño',
    'Ganas de herirse',
    'Ganas de matarme',
    'Ganas de quitarse la vida',
    'Acabar con mi vida',
    'Acabar con su vida',
    'Acabar con tu vida',
    'Pensar en la muerte antes de dormir',
    'Cutting myself when I cannot sleep',
    'I cut myself when I cannot sleep',
    'How difficult were these problems: did you self-injure?',
  ])('is recognized in %j', (question) => {
    expect(scoreScreening([...totalling(0).slice(0, 7), raised(question)]).ninthItem).toBe('non-zero')
  })

  const ninthOf = (question: string, answer: number) =>
    scoreScreening([{ question, answer: `${answer}` }]).ninthItem

  test.each([
    'I have no thoughts of suicide',
    'I do not want to die',
    "I don't want to die",
    'Thoughts of death: none',
    'A week without thoughts of death',
    'I feel safe from killing myself',
    'Je ne veux plus mourir',
    'Je n\u2019ai jamais envie de mourir',
    'Pas envie de mourir',
    'Aucun désir de mourir',
    'Aucune envie de mourir',
    'Une semaine sans envie de mourir',
    'Ningún deseo de morir',
    'Ninguna idea de morir',
    'Nunca pienso en morir',
    'Una semana sin ganas de morir',
  ])('is unclear if %j is answered with 0 (not at all)', (question) =>
    expect(ninthOf(question, 0)).toBe('unclear'),
  )

  test.each([
    'Thoughts of suicide (not at all, several days)',
    'Envie de mourir (pas du tout, plusieurs jours)',
    'Ganas de morir (ningún día, varios días)',
  ])('is zero for %j with a negation in the answer choices', (question) =>
    expect(ninthOf(question, 0)).toBe('zero'),
  )

  // These questions can hint at suicide without naming death. A mention of sleep or tiredness must not hide the hint.
  test.each([
    'Too tired for life',
    'Too tired to live',
    'Tired of living',
    'Tired of being alive',
    'Tired of existing',
    'Wanting to sleep and disappear',
    'Tired, and waiting for the end',
    'Hoping for an ending to being tired',
    'So tired that I give up',
    'Tired, and giving up',
    'Too tired to go on',
    'Tired of going on',
    'Too tired to carry on',
    'Tired of carrying on',
    'Too tired to keep on',
    'Tired of keeping on',
    'Too tired to keep going',
    'Tired of keeping going',
    'Too tired to be here',
    'Wishing to sleep forever',
    'Wishing to sleep for\u00adever',
    'To go to sleep and not wake up',
    'To go to sleep and never wake up',
    'Wish I would not awaken from sleep',
    "Hoping that I don't wake from my sleep",
    'Too tired to stay safe',
    'Urges that keep you from sleep',
    'Fatigué de la vie',
    'Fatigué de vivre',
    'Dormir et disparaître',
    'Fatigué d\u2019exister',
    'M\u2019endormir et ne plus me réveiller',
    'Que je ne me réveille pas de mon sommeil',
    'Envie de dormir pour toujours',
    'M\u2019endormir à jamais',
    'Cansado de la vida',
    'Cansada de vivir',
    'Cansado de seguir viviendo',
    'Dormir y desaparecer',
    'Cansado de existir',
    'Dormir y no despertar',
    'Querer dormir y que no despierte',
    'Dormir para siempre',
    'How difficult did these problems make it to go on living?',
  ])('is unclear for %j', (question) => expect(ninthOf(question, 3)).toBe('unclear'))

  test.each([
    'Troubles du sommeil',
    'Problemas de sueño',
    'Poor appetite',
    'Overeating',
    'Feeling bad about myself',
    'Penser que vous êtes un perdant',
    'Mauvaise opinion de vous-même',
    'Mauvaise perception de vous-même',
    'Moverse muy lento',
    'Estar moviéndose mucho',
    '¿Qué tan difícil se lo han hecho estos problemas?',
    '¿Cuán difícil se lo han hecho estos problemas?',
    '¿Qué tanta dificultad le han dado estos problemas?',
    '¿Con qué dificultad ha trabajado por estos problemas?',
    'Waking up tired',
    'Cutting yourself off from friends since you are tired',
    'Despertarse cansado',
  ])('is not asked by %j', (question) => expect(ninthOf(question, 3)).toBe('not asked'))

  test.each([
    'Que vous seriez mieux mort',
    'Qu\u2019il vaudrait mieux mourir',
    'Qu\u2019il serait préférable de mourir',
    'Que sería mejor estar muerto',
    'Que estaría mejor muerta',
    'Que preferiría estar muerto',
  ])('is zero for %j even if another question is unknown', (question) => {
    expect(scoreScreening([{ question, answer: '0' }, raised('Else')]).ninthItem).toBe('zero')
  })

  test('is the last of nine numbered questions in any language', () => {
    const numbered = german.map((question, place) => `${place + 1}. ${question}`)
    const given = [1, 2, 3, 1, 2, 0, 1, 2]
    expect(scoreScreening(answered([...given, 0], numbered)).ninthItem).toBe('zero')
    expect(scoreScreening(answered([...given, 1], numbered)).ninthItem).toBe('non-zero')
    const fields = numbered.map((_, place) => `phq9_q${place + 1}`)
    expect(scoreScreening(answered([...given, 0], fields)).ninthItem).toBe('zero')
    expect(scoreScreening(answered([...given, 0], german)).ninthItem).toBe('unclear')
  })

  test('is not asked in an empty screening', () => {
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

const french = [
  'Peu d\u2019intérêt ou de plaisir à faire des choses',
  'Se sentir triste, déprimé(e) ou désespéré(e)',
  'Difficultés à s\u2019endormir ou à rester endormi(e), ou trop dormir',
  'Se sentir fatigué(e) ou avoir peu d\u2019énergie',
  'Peu d\u2019appétit ou trop manger',
  'Mauvaise perception de vous-même — ou vous pensez que vous êtes un perdant',
  'Difficultés à se concentrer sur des choses telles que lire le journal',
  'Vous bougez ou parlez si lentement que les autres personnes ont pu le remarquer',
  'Vous avez pensé que vous seriez mieux mort(e) ou pensé à vous blesser d\u2019une façon ou d\u2019une autre',
]
const spanish = [
  'Poco interés o placer en hacer cosas',
  'Se ha sentido decaído(a), deprimido(a) o sin esperanzas',
  'Ha tenido dificultad para quedarse o permanecer dormido(a), o ha dormido demasiado',
  'Se ha sentido cansado(a) o con poca energía',
  'Sin apetito o ha comido en exceso',
  'Se ha sentido mal con usted mismo(a) - o que es un fracaso',
  'Ha tenido dificultad para concentrarse en ciertas actividades, tales como leer el periódico',
  '¿Se ha movido o hablado tan lento que otras personas podrían haberlo notado?',
  'Pensamientos de que estaría mejor muerto(a) o de lastimarse de alguna manera',
]

describe.each([
  ['French', french, ['Jamais', 'Plusieurs jours', 'Plus de sept jours', 'Presque tous les jours']],
  ['Spanish', spanish, ['Ningún día', 'Varios días', 'Más de la mitad de los días', 'Casi todos los días']],
] as const)('domain: a screening in %s', (_, questions, words) => {
  const [never, some, most, always] = words as unknown as [string, string, string, string]
  const plain = (text: string) => text.normalize('NFD').replace(/\p{M}/gu, '')
  const [last] = questions.slice(-1) as [string]

  test.each([
    ['in the published spelling', (text: string) => text],
    ['without accents', plain],
    ['in capitals', (text: string) => text.toUpperCase()],
    ['with decomposed accents', (text: string) => text.normalize('NFD')],
  ])('is scored if it is written %s', (_form, written) => {
    const given = [some, most, always, never, never, never, never, never, some]
    expect(scoreScreening(answered(given.map(written), questions.map(written)))).toEqual({
      total: 7,
      readCount: 9,
      isComplete: true,
      severity: 'mild',
      unread: [],
      ninthItem: 'non-zero',
    })
  })

  test('has a ninth item that is recognized in any position', () => {
    const [first, ...others] = questions as unknown as [string, ...string[]]
    expect(
      scoreScreening([
        { question: last, answer: always },
        { question: first, answer: never },
      ]),
    ).toMatchObject({
      ninthItem: 'non-zero',
    })
    expect(scoreScreening([{ question: last, answer: 'todo' }]).ninthItem).toBe('unclear')
    expect(scoreScreening([{ question: last, answer: never }]).ninthItem).toBe('zero')
    const eight = [first, ...others.slice(0, -1)]
    expect(scoreScreening(answered(Array(8).fill(some), eight)).ninthItem).toBe('not asked')
    for (const question of eight) {
      expect(scoreScreening([{ question, answer: always }]).ninthItem, question).toBe('not asked')
    }
  })
})

test.each([
  'dans quelle mesure ces problèmes ont-ils rendu difficiles votre travail ou vos tâches à la maison ?',
  'À quel point ces problèmes ont-ils rendu difficile votre travail ?',
  '¿qué tanta dificultad le han dado estos problemas para hacer su trabajo?',
])('domain: %p is not one of the nine screening items', (question) => {
  const score = scoreScreening([...totalling(12), { question, answer: 'Muy difícil' }])
  expect(score).toMatchObject({ total: 12, severity: 'moderate', unread: [], ninthItem: 'zero' })
})

describe('domain: the risk of a screening', () => {
  const withNinth = (total: number, ninth: number | string) => [
    ...totalling(total).slice(0, 8),
    { question: standardQuestions[8] as string, answer: String(ninth) },
  ]
  const inOrder: readonly (readonly [string, Parameters<typeof riskOf>[0]])[] = [
    ['a severe one with a ninth item that is not zero', withNinth(24, 3)],
    ['a mild one with it', withNinth(5, 1)],
    ['answers that cannot be opened', null],
    ['a severe one whose ninth item cannot be read', withNinth(24, 'oui')],
    ['a minimal one whose ninth item cannot be read', withNinth(0, 'oui')],
    ['a severe one', withNinth(24, 0)],
    ['a moderately severe one', withNinth(15, 0)],
    ['a moderate one', withNinth(10, 0)],
    ['a mild one', withNinth(5, 0)],
    ['a minimal one', withNinth(0, 0)],
  ]

  test('is ordered by the ninth item, non-zero first, and then by severity', () => {
    const urgencies = inOrder.map(([, answers]) => riskOf(answers).urgency)
    expect(urgencies).toEqual(urgencies.toSorted((a, b) => b - a))
    // Only two rows are equally urgent: undecryptable answers, and a severe screening with an unreadable ninth item.
    expect(new Set(urgencies).size).toBe(inOrder.length - 1)
  })

  test('counts an unreadable answer like the worst answer, and contains no severity', () => {
    const unread = answered(['often', 'often', 'often', 'often', 0, 0, 0, 0, 0])
    expect(riskOf(unread)).toEqual({ ...riskOf(withNinth(12, 0)), severity: null })
    expect(riskOf(unread).ninthItem).toBe('zero')
  })
})
