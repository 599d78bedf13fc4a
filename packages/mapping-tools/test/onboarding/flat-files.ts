/** Flat files of several record types, as vendors that do not exist write them, from a seed, with the records that they hold. */
import { drawFrom } from '../../../../test/load/simulated-flow.ts'

export interface FlatFile {
  readonly name: string
  readonly content: string
  /** `person key value date`; empty where the cells do not tell. */
  readonly truth: readonly string[]
  /** Parts of lines of the draft. */
  readonly says: readonly string[]
}

const two = (number: number): string => String(number).padStart(2, '0')
const file = (lines: readonly (readonly (string | number)[])[], delimiter: string): string =>
  lines.map((cells) => `${cells.join(delimiter)}\n`).join('')

const LOINC = [
  ['4548-4', 'hba1c', '%', 4.8, 8.5, 1],
  ['2093-3', 'total-cholesterol', 'mg/dL', 140, 260, 0],
  ['2085-9', 'hdl-cholesterol', 'mg/dL', 35, 80, 0],
  ['2571-8', 'triglycerides', 'mg/dL', 70, 250, 0],
] as const

/** A laboratory's own codes: names that are understood, and one that is not. */
const OWN = [
  ['HDL Cholesterol', 'hdl-cholesterol', 'mg/dL', 35, 80, 0],
  ['Total Cholesterol', 'total-cholesterol', 'mg/dL', 140, 260, 0],
  ['Hemoglobin A1c', 'hba1c', '%', 4.8, 8.5, 1],
  ['Creatinine', 'creatinine', 'mg/dL', 0.6, 1.3, 2],
  ['HDL Cholesterol (goal)', '', 'mg/dL', 35, 80, 0],
] as const

export function inventFlatFiles(seed: number): FlatFile[] {
  const chance = drawFrom(seed)
  const between = (low: number, high: number, decimals: number): string =>
    (low + chance() * (high - low)).toFixed(decimals)
  const people = Array.from({ length: 12 }, (_, at) => ({
    id: `P${7000 + at * 13}`,
    born: `${1950 + at * 4}-${two(1 + at)}-1${at % 9}`,
    sex: at % 2 === 0 ? 'F' : 'M',
  }))
  const day = (at: number): string => `2026-02-${two(1 + (at % 27))}`
  const midnight = (at: number): string => `${day(at)}T00:00:00.000Z`

  const orders = (): FlatFile => {
    const truth: string[] = []
    const lines: (string | number)[][] = [['HDR', 'LAB', '20260301', 1]]
    for (const [at, { id, born, sex }] of people.entries()) {
      lines.push(['PID', id, born, sex])
      for (let order = 0; order <= at % 3; order++) {
        const taken = at * 3 + order
        lines.push(['OBR', `O-${id}-${order}`, day(taken)])
        for (const [place, [code, key, unit, low, high, decimals]] of LOINC.slice(
          0,
          2 + (at % 3),
        ).entries()) {
          const value = between(low, high, decimals)
          const state = place === 1 && at % 4 === 0 ? 'P' : 'F'
          lines.push([
            'OBX',
            place + 1,
            code,
            value,
            unit,
            `${low}-${high}`,
            ['H', 'L', 'N'][at % 3] ?? '',
            state,
          ])
          if (state === 'F') truth.push(`${id} ${key} ${value} ${unit} ${midnight(taken)}`)
        }
      }
    }
    lines.push(['TRL', people.length])
    return {
      name: 'orders.txt',
      content: file(lines, '|'),
      truth,
      says: [
        'row: PID',
        'PID: [cell_1, cell_2, cell_3]',
        'OBX: { in: OBR, columns:',
        'skip: [HDR]',
        'count: { type: TRL, cell: 1 }',
        'PID begins a row, OBR belongs to PID, OBX belongs to OBR',
      ],
    }
  }

  const numbered = (): FlatFile => {
    const truth: string[] = []
    const lines: (string | number)[][] = []
    for (const [at, { id, sex }] of people.entries()) {
      lines.push(['10', id, sex, day(at)])
      for (const [name, key, unit, low, high, decimals] of OWN) {
        const value = between(low, high, decimals)
        lines.push(['20', name, value, unit])
        if (key !== '') truth.push(`${id} ${key} ${value} ${unit} ${midnight(at)}`)
        if (at % 2 === 0) lines.push(['25', `remark ${at}`, 'of the laboratory', 'x', 'y'])
      }
    }
    return {
      name: 'numbered.csv',
      content: file(lines, ','),
      truth,
      says: ['row: "10"', '"25": { in: "20"', 'type_20:', 'HDL Cholesterol (goal)'],
    }
  }

  const visits = (): FlatFile => {
    const truth: string[] = []
    const lines: (string | number)[][] = [['H', 'visits', 'v1', 'x', 'y', 'z']]
    for (const [at, { id, sex }] of people.entries()) {
      lines.push(['V', id, sex])
      for (const [code, key, unit, low, high, decimals] of LOINC.slice(0, 1 + (at % 4))) {
        const value = between(low, high, decimals)
        lines.push(['L', day(at), code, value, unit])
        truth.push(`${id} ${key} ${value} ${unit} ${midnight(at)}`)
      }
      if (at % 3 === 0) continue
      for (const [code, key] of [
        ['E11.9', 'type-2-diabetes'],
        ['I10', 'hypertension'],
      ] as const) {
        lines.push(['D', code, day(at + 5)])
        truth.push(`${id} ${key} active ${midnight(at + 5)}`)
      }
    }
    return {
      name: 'visits.txt',
      content: file(lines, ';'),
      truth,
      says: ['skip: [H]', 'L belongs to V, D belongs to V', 'system: ICD-10-CM'],
    }
  }

  /** Two numbers beside each code, of which the second is that of the time before. */
  const twice = (): FlatFile => ({
    name: 'twice.txt',
    content: file(
      people.flatMap(({ id }, at) => [
        ['P', id, day(at)],
        ...LOINC.map(([code, , unit, low, high, decimals]) => [
          ...['R', code, between(low, high, decimals), between(low, high, decimals), unit],
        ]),
      ]),
      '|',
    ),
    truth: [],
    says: ['DECIDE: which cell of R is the value: r.cell_2 or r.cell_3? No rule is written.'],
  })

  /** Measurements without codes. */
  const bare = (): FlatFile => ({
    name: 'bare.txt',
    content: file(
      people.flatMap(({ id, born }, at) => [
        ['P', id, born],
        ['M', day(at), between(100, 160, 0), between(60, 95, 0), between(55, 110, 1)],
      ]),
      '|',
    ),
    truth: [],
    says: ['DECIDE: M has numbers without known codes: what are m.cell_2, m.cell_3, m.cell_4? No rule'],
  })

  /** One type of rows between a header and a trailer of other widths. */
  const plain = (): FlatFile => {
    const truth: string[] = []
    const lines: (string | number)[][] = [['HDR', 'results']]
    for (const [at, { id }] of people.entries()) {
      const [code, key, unit, low, high, decimals] = LOINC[at % LOINC.length] ?? LOINC[0]
      const value = between(low, high, decimals)
      lines.push(['DTL', `${id}-${at}`, day(at), code, value, unit])
      truth.push(`${id}-${at} ${key} ${value} ${unit} ${midnight(at)}`)
    }
    lines.push(['TRL', 'end', people.length])
    return {
      name: 'plain.txt',
      content: file(lines, '|'),
      truth,
      says: ['row: DTL', 'count: { type: TRL, cell: 2 }'],
    }
  }

  return [orders(), numbered(), visits(), twice(), bare(), plain()]
}

/** CSV of which the first cells are few and short, and all the same no records of several types. */
export const TABLES: readonly (readonly [name: string, content: string])[] = [
  ['a column of sexes first', 'sex,id,sbp\nF,1,118\nM,2,120\nF,3,121\nM,4,122\n'],
  ['and totals', 'sex,id,sbp\nF,1,118\nM,2,120\nF,3,121\nM,4,122\nTotal,4\n'],
  ['a title above', 'Report\nid,sbp\nA1,118\nA1,120\nA2,121\n'],
  [
    'a site first, and cells that are missing here and there',
    'site,id,sbp,dbp\nS1,1,118,76\nS2,2,120\nS1,3,121\nS2,4,122,80\n',
  ],
  ['one type after the other', 'P,1,x\nP,2,y\nP,3,z\nR,1,4548-4,5.1\nR,2,4548-4,5.2\nR,3,4548-4,5.3\n'],
]
