/**
 * The export of the tutorial (docs/tutorial.md): forty visits of people who do not exist, with what a first export often has: two units in one
 * column, dates of the United States, a word in the place of a number. `npm run samples` makes it anew, byte for byte the same.
 */
import { mkdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { padded, personAt } from './people.ts'
import { Random, STREAM } from './random.ts'
import { writeLines } from './write-lines.ts'

export const LAKESIDE = join(import.meta.dirname, 'tutorial/lakeside_20260430.csv')

const SEED = 7
const VISITS = 40
/** Whose blood could not be measured. */
const HEMOLYZED = 17
const POUNDS_A_KILOGRAM = 2.2046

const COLUMNS = [
  ...['member_no', 'first_name', 'last_name', 'sex', 'birth_date', 'zip', 'visit_date'],
  ...['sys', 'dia', 'pulse', 'weight', 'weight_unit', 'glucose', 'a1c', 'diabetes'],
]

export function* lakesideLines(): Generator<string> {
  yield `${COLUMNS.join(',')}\n`
  for (let visit = 1; visit <= VISITS; visit++) yield `${visitOf(visit).join(',')}\n`
}

function visitOf(visit: number): readonly (string | number)[] {
  const person = personAt(SEED, visit)
  const random = new Random(SEED, STREAM.health, visit)
  const inPounds = random.chance(0.4)
  const kilograms = random.normal(78, 12)
  const isDiabetic = random.chance(0.12)
  const day = padded(random.integer(1, 28), 2)
  const [year, month, date] = person.dateOfBirth.split('-')
  const pressure = [random.normal(122, 10), random.normal(78, 7), random.normal(70, 8)]
  const glucose = random.normal(isDiabetic ? 140 : 95, 10).toFixed(0)
  return [
    ...[`L${padded(visit, 5)}`, person.firstName, person.lastName, person.gender],
    ...[`${month}/${date}/${year}`, person.postalCode, `04/${day}/2026`],
    ...pressure.map((value) => value.toFixed(0)),
    ...[(inPounds ? kilograms * POUNDS_A_KILOGRAM : kilograms).toFixed(1), inPounds ? 'lb' : 'kg'],
    visit === HEMOLYZED ? 'hemolyzed' : glucose,
    ((isDiabetic ? 6.6 : 5) + random.next() * (isDiabetic ? 1 : 0.6)).toFixed(1),
    isDiabetic ? 'Y' : 'N',
  ]
}

if (import.meta.main) {
  await mkdir(dirname(LAKESIDE), { recursive: true })
  await writeLines(LAKESIDE, lakesideLines())
}
