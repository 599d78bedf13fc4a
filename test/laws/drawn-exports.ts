/** Exports as fast-check draws them, and what the gateway does with single records of them. */
import fc from 'fast-check'
import { REGISTERED_ROW } from '../cli/clinic.ts'

export const MAPPING = `mapping: drawn
${REGISTERED_ROW}  skipWhen: { seen: "N" }
biometrics:
  heart-rate: pulse
  hba1c: a1c
conditions:
  type-2-diabetes: { when: { dx: "Y" }, status: active }
careTeams:
  pcp: { when: { npi: present }, npi: npi, name: practice, type: PCP, primary: true }
`

const HEADER = 'id,day,seen,first,last,born,gender,zip,pulse,a1c,dx,npi,practice'
const NPIS = ['1234567893', '1003000126'] as const
/** Rules whose records go to the gateway in batches. */
const RULES = ['heart-rate', 'hba1c', 'type-2-diabetes', 'pcp'] as const

/** The fate of a record, each time that it is sent or once. */
export type Fate =
  /** The gateway refuses each request that holds it. */
  | 'refused'
  /** It is stored, and the connection breaks before the answer: once. */
  | 'unanswered'
  /** The connection breaks before it is stored: once. */
  | 'lost'

export interface DrawnRow {
  readonly person: number
  /** Of March 2026. */
  readonly day: number
  readonly is: 'good' | 'skipped' | 'too-short' | 'no-date' | 'no-pulse' | 'no-person' | 'not-registered'
  readonly pulse: number
  readonly a1c: string
  readonly hasCondition: boolean
  readonly careTeam: number | undefined
  readonly fate: readonly [rule: (typeof RULES)[number], fate: Fate] | undefined
}

export interface DrawnExport {
  readonly rows: readonly DrawnRow[]
  /** People whose registration the gateway refuses. */
  readonly strangers: readonly string[]
}

interface Drawing {
  readonly maxRows: number
  /** Rows of different days of a person: profiles then show the later one alone. */
  readonly peopleComeAgain: boolean
  readonly fates: readonly Fate[]
}

export const drawnExport = ({ maxRows, peopleComeAgain, fates }: Drawing): fc.Arbitrary<DrawnExport> => {
  const row = fc.record<DrawnRow>({
    person: fc.nat({ max: 40 }),
    day: fc.integer({ min: 1, max: 9 }),
    is: fc.oneof(
      { weight: 12, arbitrary: fc.constant('good' as const) },
      {
        weight: 3,
        arbitrary: fc.constantFrom(
          ...(['skipped', 'too-short', 'no-date', 'no-pulse', 'no-person', 'not-registered'] as const),
        ),
      },
    ),
    pulse: fc.integer({ min: 50, max: 99 }),
    a1c: fc.constantFrom('5.1', '5.2', ''),
    hasCondition: fc.boolean(),
    careTeam: fc.option(fc.nat({ max: NPIS.length - 1 }), { nil: undefined }),
    fate: fc.oneof(
      { weight: 8, arbitrary: fc.constant(undefined) },
      {
        weight: fates.length > 0 ? 1 : 0,
        arbitrary: fc.tuple(fc.constantFrom(...RULES), fc.constantFrom(...fates)),
      },
    ),
  })
  const rows = fc.array(row, { minLength: 1, maxLength: maxRows, size: 'max' })
  return fc.record({
    rows: peopleComeAgain
      ? rows
      : // Each person once, of the first day: nothing in a profile hides anything.
        rows.map((all) => all.map((one, at) => ({ ...one, person: at }))),
    strangers: fc.array(
      fc.nat({ max: 40 }).map((person) => `p${person}`),
      { maxLength: 2 },
    ),
  })
}

export function csvOf({ rows }: Pick<DrawnExport, 'rows'>): string {
  return `${[HEADER, ...rows.map(lineOf)].join('\n')}\n`
}

/** Nobody else has a row of whom there is nothing to register with: which of several rows registers a person is up to their chunk. */
const personOf = ({ person, is }: Pick<DrawnRow, 'person' | 'is'>): string =>
  is === 'not-registered' ? `nobody-${person}` : `p${person}`

function lineOf({ person, day, is, pulse, a1c, hasCondition, careTeam }: DrawnRow): string {
  const cells = [
    is === 'no-person' ? '' : personOf({ person, is }),
    is === 'no-date' ? 'soon' : `2026-03-0${day}`,
    is === 'skipped' ? 'N' : 'Y',
    'Testina',
    'Beispielfrau',
    is === 'not-registered' ? '' : '1970-02-28',
    'FEMALE',
    '00000',
    is === 'no-pulse' ? 'fast' : String(pulse),
    a1c,
    hasCondition ? 'Y' : '',
    careTeam === undefined ? '' : NPIS[careTeam],
    careTeam === undefined ? '' : `Practice ${careTeam}`,
  ]
  return (is === 'too-short' ? cells.slice(0, 5) : cells).join(',')
}

/** By row and rule, as transaction ids name them. What says the same has the same fate: a gateway does not look at the row that it came from. */
export function fatesOf({ rows }: DrawnExport): ReadonlyMap<string, Fate> {
  const ofContent = new Map<string, Fate>()
  for (const row of rows) if (row.fate !== undefined) ofContent.set(contentOf(row, row.fate[0]), row.fate[1])
  const places = rows.flatMap((row, at) =>
    RULES.flatMap((rule) => {
      const fate = ofContent.get(contentOf(row, rule))
      return fate === undefined ? [] : [[`${at + 1} ${rule}`, fate] as const]
    }),
  )
  return new Map(places)
}

function contentOf({ person, day, pulse, a1c, careTeam }: DrawnRow, rule: (typeof RULES)[number]): string {
  const said = { 'heart-rate': pulse, hba1c: a1c, 'type-2-diabetes': 'active', pcp: careTeam }[rule]
  return [person, rule, said, ...(rule === 'pcp' ? [] : [day])].join(' ')
}
