/**
 * The exports and faults of a round with jobs of the other kinds: a roster, requests for medical records with their PDFs, questionnaires on paper,
 * whole care teams that shrink and grow, and a collection of what stands there. All of it is drawn from seed and number.
 */
import { Random } from '../samples/random.ts'
import type { DrawnFault, Pace } from './draw-faults.ts'
import { DRILL_STREAM, MARK } from './exports.ts'
import type { KillPoint } from './kill-points.ts'
import type { Ending } from './scene.ts'

/** Every tenth round; a backfill has odd numbers. */
export const isOtherJobsRound = (round: number): boolean => round % 10 === 0

export interface Requested {
  readonly reference: string
  readonly person: string
  /** Night from which on its PDF lies there; undefined: never. */
  readonly authorizedFrom: number | undefined
  /** Of each night in which a file names it, what it says; the last one stands. */
  readonly said: ReadonlyMap<number, { readonly phone: string; readonly isWithdrawn: boolean }>
}

export interface OtherJobsPlan {
  readonly people: readonly string[]
  /** Who has filled in a questionnaire, and the night in which it comes. */
  readonly papers: ReadonlyMap<string, number>
  /** Who answers the same test in the app, otherwise than on paper: before the paper comes, or once a process that takes it was killed. */
  readonly inApp: ReadonlyMap<string, 'before' | 'after-kill'>
  readonly requests: readonly Requested[]
  /** Of each night whom its export lists as the care team of whom; the first is the primary one. A person can be in none. */
  readonly teams: ReadonlyMap<number, ReadonlyMap<string, readonly string[]>>
  readonly nights: number
  readonly batch: number
  readonly concurrency: number
  readonly faults: readonly DrawnFault[]
  readonly faultSeed: number
  /** Where collections go to an SFTP server: the writes, counted from 1, with which it cuts the connection. */
  readonly cuts: readonly number[] | undefined
  /** How the processes of a job of a night end, before one may go on to its end. */
  endings(): readonly Ending[]
}

const POINTS: readonly [KillPoint, ...KillPoint[]] = [
  ...(['after-lease', 'before-export', 'before-chunk', 'before-registration', 'after-registration'] as const),
  ...([
    'before-chunk-settlement',
    'between-chunks',
    'before-export-end',
    'before-run-end',
    'after-run-end',
  ] as const),
]

const CALLS = [
  ...(['registerAccount', 'upsertMedicalRecords', 'uploadAuthorization', 'deleteMedicalRecords'] as const),
  ...(['searchMedicalRecords', 'listRequestTypes', 'readAssessmentPage', 'submitAnswers'] as const),
  ...(['readAgeResult', 'readBiometrics'] as const),
  ...(['createCareTeams', 'listCareTeams', 'deleteCareTeams', 'setPrimaryCare'] as const),
] as const

const NPIS = ['1234567893', '1003000126', '1013000124', '1023000122', '1033000120'] as const

/** Each can be waited out: none refuses anything for good. */
const KINDS = [
  'reset',
  'store-then-reset',
  'store-then-answer',
  'refuse',
  'rate-limit',
  'outage',
  'slow',
  'hang',
] as const

export function planOtherJobs(seed: number, round: number, pace: Pace): OtherJobsPlan {
  const random = new Random(seed, DRILL_STREAM.otherJobs, round)
  const people = Array.from({ length: random.integer(8, 40) }, (_, at) => `p${at}`)
  const nights = random.integer(1, 3)
  const papers = new Map(
    people.flatMap((person) => (random.chance(0.5) ? [[person, random.integer(1, nights)] as const] : [])),
  )
  const apart = new Random(seed, DRILL_STREAM.inApp, round)
  const inApp = new Map<string, 'before' | 'after-kill'>(
    [...papers.keys()].flatMap((person) =>
      apart.chance(0.5) ? [[person, apart.pick(['before', 'after-kill', 'after-kill'])] as const] : [],
    ),
  )
  const requests = people.flatMap((person, at) =>
    random.chance(0.6) ? [requestOf(random, nights, person, `req-${at}`)] : [],
  )
  const teams = teamsOf(random, people, nights)
  return {
    ...{ people, papers, inApp, requests, teams, nights },
    batch: random.pick([3, 7, 100]),
    concurrency: random.pick([1, 3, 8]),
    faults: Array.from({ length: random.integer(2, 5) }, () => faultOf(random, pace)),
    faultSeed: random.integer(1, 1_000_000),
    cuts: random.chance(0.5)
      ? Array.from({ length: random.integer(0, 4) }, () => random.integer(1, 8))
      : undefined,
    endings: () =>
      Array.from(
        { length: random.pick([0, 1, 1, 2]) },
        (): Ending =>
          random.chance(0.5)
            ? { by: 'instant', afterMs: random.integer(250, 1_200) }
            : { by: 'point', kill: { point: random.pick(POINTS), nth: random.pick([1, 1, 2]) } },
      ),
  }
}

function teamsOf(random: Random, people: readonly string[], nights: number): OtherJobsPlan['teams'] {
  const teams = new Map<number, Map<string, readonly string[]>>()
  for (let night = 1; night <= nights; night++) {
    const listed = new Map<string, readonly string[]>()
    for (const person of people)
      if (random.chance(0.7)) {
        const left = [...NPIS]
        const size = random.integer(0, 3)
        listed.set(
          person,
          Array.from({ length: size }, () => left.splice(random.integer(0, left.length - 1), 1)[0] ?? ''),
        )
      }
    teams.set(night, listed)
  }
  return teams
}

/** The care team that the newest export lists that has the person. */
export const lastTeam = ({ teams }: OtherJobsPlan, person: string): readonly string[] =>
  [...teams.values()].findLast((listed) => listed.has(person))?.get(person) ?? []

function requestOf(random: Random, nights: number, person: string, reference: string): Requested {
  const from = random.integer(1, nights)
  const isAuthorized = random.chance(0.75)
  const said = new Map<number, { phone: string; isWithdrawn: boolean }>()
  for (let night = from; night <= nights; night++)
    if (night === from || random.chance(0.4))
      // One that is authorized cannot be withdrawn any more; the first file asks for it.
      said.set(night, {
        phone: String(random.integer(100, 999)),
        isWithdrawn: !isAuthorized && night > from && random.chance(0.5),
      })
  return { reference, person, said, authorizedFrom: isAuthorized ? random.integer(from, nights) : undefined }
}

function faultOf(random: Random, { answerWithin }: Pace): DrawnFault {
  const kind = random.pick(KINDS)
  if (kind === 'hang' && answerWithin === undefined) return faultOf(random, { answerWithin, late: 0 })
  const on = random.pick(CALLS)
  // Fewer in a row than make a request fail by itself (docs/delivery.md).
  const when = random.pick<Record<string, number>>([
    { nth: random.integer(1, 5) },
    { chance: 0.3, times: 4 },
    { first: random.integer(1, 2) },
  ])
  const more = {
    reset: { on, when },
    'store-then-reset': { on, when },
    'store-then-answer': {
      on,
      status: random.pick([500, 502, 503]),
      body: random.pick(['envelope', 'html', 'empty']),
      when,
    },
    refuse: {
      on,
      ...random.pick<object>([
        { status: 503, retryAfter: 1 },
        { status: 429 },
        { status: 500, body: 'html' },
      ]),
      when,
    },
    'rate-limit': { on: 'all', requests: random.integer(8, 30), perMs: 100, when: { times: 40 } },
    outage: {
      on: 'all',
      fromMs: random.integer(300, 4_000),
      forMs: random.integer(300, 2_000),
      as: random.pick(['refuse', 'reset']),
    },
    slow: { on, ms: [5, 150], before: random.pick(['storing', 'answering']), when },
    hang: { on, when: { chance: 0.3, times: 2 } },
  }[kind]
  return {
    kind,
    fault: { do: kind, ...more },
    harm: { refuses: false, refusesPeople: false, hidesProfiles: false },
  }
}

/** What it says last, of the nights until then; undefined where none has named it. */
export const lastSaid = ({ said }: Requested, night: number) =>
  [...said].filter(([at]) => at <= night).at(-1)?.[1]

const csv = (lines: readonly (readonly (string | number)[])[]): string =>
  lines.map((cells) => `${cells.join(',')}\n`).join('')

export const rosterText = ({ people }: OtherJobsPlan): string =>
  csv([
    ['id', 'first', 'last', 'born', 'gender', 'zip'],
    ...people.map((id) => [id, `Ada${MARK}`, `Alder${MARK}`, '1950-02-03', 'FEMALE', '04101']),
  ])

/** Of one night. */
export const papersText = ({ papers }: OtherJobsPlan, night: number): string =>
  csv([
    ['id', 'feet', 'inches', 'sitting', 'tobacco', 'walks', 'sleep'],
    ...[...papers].flatMap(([id, from]) =>
      from === night ? [[id, 5, 7, 'sits-little', 'never', 'did-walk', 'sleep-good']] : [],
    ),
  ])

export const requestsText = ({ requests }: OtherJobsPlan, night: number): string =>
  csv([
    ['ref', 'id', 'first', 'last', 'born', 'phone', 'state'],
    ...requests.flatMap(({ reference, person, said }) => {
      const now = said.get(night)
      const state = now?.isWithdrawn === true ? 'withdrawn' : ''
      return now === undefined
        ? []
        : [[reference, person, `Ada${MARK}`, `Alder${MARK}`, '1950-02-03', now.phone, state]]
    }),
  ])

/** A person without anybody has a row of their own, which lists nobody. */
export const teamsText = ({ teams }: OtherJobsPlan, night: number): string =>
  csv([
    ['id', 'day', 'npi', 'name', 'primary'],
    ...[...(teams.get(night) ?? [])].flatMap(([id, npis]) =>
      (npis.length === 0 ? [''] : npis).map((npi, at) => [
        ...[id, `2026-03-0${night}`, npi, `Practice ${npi}${MARK}`, at === 0 ? 'Y' : 'N'],
      ]),
    ),
  ])

/** Bytes that are no text, so that whoever reads them as such is found out. */
export const pdfOf = (reference: string): Buffer =>
  Buffer.concat([
    Buffer.from(`%PDF-1.7 ${reference}\n`),
    Buffer.from([0, 255, 128, 13, 10, 26]),
    Buffer.from('\n%%EOF\n'),
  ])

export const MAPPINGS: Readonly<Record<string, string>> = {
  'drill-roster': `mapping: drill-roster
read: { format: csv }
row:
  key: [id]
  account: { reference: id, register: { firstName: first, lastName: last, dateOfBirth: born, gender: gender, postalCode: zip } }
`,
  'drill-papers': `mapping: drill-papers
read: { format: csv }
row: { key: [id], account: { reference: id } }
assessment:
  answers:
    height: { facts: { height-feet: feet, height-inches: inches } }
    sitting-hours: sitting
    tobacco: tobacco
    activity-kinds: [walks]
    sleep-hours: sleep
`,
  'drill-teams': `mapping: drill-teams
read: { format: csv }
row:
  key: [id, npi]
  account: { reference: id }
  observedAt: { from: day, format: yyyy-MM-dd, zone: UTC }
  source: { name: Drill, type: screening, sendingSystem: drill }
careTeams:
  doctor: { when: { npi: present }, npi: npi, name: name, primary: { primary: Y } }
`,
  'drill-requests': `mapping: drill-requests
read: { format: csv }
row: { key: [ref], account: { reference: id } }
medicalRecords:
  aps:
    reference: ref
    patient: { firstName: first, lastName: last, dob: born, type: { constant: partnerAccountId }, reference: id }
    provider: { phone: phone }
    request: { requestType: Attending Physician Statement, requestSubType: Life Insurance, datesOfService: { start: { constant: "2020-01-01" }, end: { constant: "2024-12-31" } } }
    authorization: { file: { concat: [ref, { constant: .pdf }] } }
    withdrawn: { state: withdrawn }
`,
}

/** @param to where the collection goes, as a job says it */
export const jobsOf = (
  { batch, concurrency }: OtherJobsPlan,
  to: string,
): Readonly<Record<string, string>> => {
  const submit = `submit: { concurrency: ${concurrency}, batch: { records: ${batch} } }\n`
  const reading = (name: string): string =>
    `job: ${name}\nexports: { from: ../${name}, match: "*.csv" }\nmapping: drill-${name}\n${submit}`
  return {
    roster: reading('roster'),
    papers: reading('papers'),
    teams: `${reading('teams')}careTeams: { missing: delete }\n`,
    requests: `${reading('requests')}medicalRecords: { authorizations: ../authorizations }\n`,
    collect: `job: collect
people: { exports: { from: ../roster, match: "*.csv" }, mapping: drill-roster }
collect: { what: [ageResult, requestStatus], requests: [{ type: Attending Physician Statement, subType: Life Insurance }] }
to: ${to}
${submit}`,
  }
}
