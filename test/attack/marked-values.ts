/** Marked people and values, and a search for them in all that Waybill writes, in whatever form they stand there. */
import { readdir, readFile, stat } from 'node:fs/promises'
import { join, sep } from 'node:path'
import { gunzipSync } from 'node:zlib'
import type { Workplace } from '../cli/command-line.ts'

/** Each is found nowhere by chance, digits alone included; dates also as the wire writes them. */
export const MARKS = [
  'Quixotine',
  'Zephyrwell',
  'ZQ-771404-REF',
  '1961-07-13',
  '07/13/1961',
  '83319-47102',
  '81.739162514',
  '5.81736294',
  '1.234567891e',
  'Borvaine',
  'mark-remark',
]

/** What a gateway may make of a text. */
export const VARIANTS: Readonly<Record<string, (text: string) => string>> = {
  'as it is': (text) => text,
  'upper case': (text) => text.toUpperCase(),
  base64: (text) => Buffer.from(text).toString('base64'),
  split: (text) => text.split('').join('-'),
}

/** Letters and digits alone, in lower case: what is split by punctuation stands together again. */
const bare = (text: string): string => text.toLowerCase().replaceAll(/[^a-z0-9]/g, '')

/** The part of base64 that is the same whatever stands around the mark, for each of the three places at which it can begin. */
const encodings = (mark: string): string[] =>
  [0, 1, 2].map((before) => {
    const start = Math.ceil((before * 4) / 3)
    const whole = Math.floor((before + mark.length) / 3) * 4
    return Buffer.from(`${'\0'.repeat(before)}${mark}`)
      .toString('base64')
      .slice(start, whole)
  })

/** `mark in place` of each that was found, in any case, split, in UTF-16, in base64. */
export function marksIn(texts: Iterable<readonly [string, Buffer | string]>): string[] {
  const found: string[] = []
  for (const [where, content] of texts) {
    const bytes = Buffer.from(content)
    // Room that is held free.
    if (bytes.equals(Buffer.alloc(bytes.length))) continue
    const text = bytes.toString('latin1')
    const letters = bare(text)
    for (const mark of MARKS) {
      const isThere =
        letters.includes(bare(mark)) ||
        bytes.includes(Buffer.from(mark, 'utf16le')) ||
        [mark, mark.toUpperCase(), mark.toLowerCase()].flatMap(encodings).some((one) => text.includes(one))
      if (isThere) found.push(`${mark} in ${where}`)
    }
  }
  return found
}

/** Every file of the home, unpacked, but for rejects files, which only their owner may read. */
export async function writtenTo({ home }: Workplace): Promise<Map<string, Buffer>> {
  const all = new Map<string, Buffer>()
  for (const file of await readdir(home, { recursive: true, withFileTypes: true })) {
    const path = join(file.parentPath, file.name)
    if (!file.isFile()) continue
    if (path.includes(`${sep}rejects${sep}`)) {
      const { mode } = await stat(path)
      if ((mode & 0o777) !== 0o600) throw new Error(`${path} has the mode ${mode.toString(8)}`)
      continue
    }
    const bytes = await readFile(path)
    all.set(path, path.endsWith('.gz') ? gunzipSync(bytes) : bytes)
  }
  return all
}

export const MAPPING = `mapping: clinic
read: { format: csv }
row:
  key: [id, day]
  account:
    reference: id
    register:
      firstName: first
      lastName: last
      dateOfBirth: { from: dob, format: MM/dd/yyyy }
      gender: { from: sex, table: { F: FEMALE, M: MALE } }
      postalCode: zip
  observedAt: { from: day, format: yyyy-MM-dd, zone: America/New_York }
  source: { name: Clinic, type: screening, sendingSystem: clinic }
biometrics:
  hba1c: a1c
  body-weight: { from: weight, unit: kg }
conditions:
  asthma: { when: { dx: Y }, status: { from: state, table: { C: active } } }
careTeams:
  pcp: { when: { npi: present }, npi: npi, name: doctor, primary: true }
`
const HEADER = 'id,first,last,dob,sex,zip,day,a1c,weight,dx,state,npi,doctor,remark\n'

/** A person's row, told apart by a number behind the reference. */
const row = (
  n: number,
  more: Partial<Record<'a1c' | 'state' | 'day' | 'sex' | 'npi', string>> = {},
): string =>
  [
    `ZQ-771404-REF${n}`,
    ...['Quixotine', 'Zephyrwell', '07/13/1961', more.sex ?? 'F', '83319-47102'],
    ...[more.day ?? '2026-03-02', more.a1c ?? '5.81736294', '81.739162514', 'Y', more.state ?? 'C'],
    ...[more.npi ?? '1234567893', 'Dr. Borvaine', 'mark-remark'],
  ].join(',')

/** Rows that are sent, and rows with faults of each stage. */
export const MARKED_EXPORT = `${HEADER}${[
  row(1),
  row(2, { a1c: '1.234567891e99' }),
  row(3, { state: 'Borvaine' }),
  row(4, { day: '07/13/1961' }),
  row(5, { sex: 'Quixotine' }),
  row(6, { npi: '83319-47102' }),
  `${row(7)},Zephyrwell`,
  `"${row(8)}`,
].join('\n')}\n`
