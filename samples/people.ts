/** Made-up participants and physicians. Names are common ones put together at random; nobody is meant. */
import { Random, STREAM } from './random.ts'

export interface Person {
  readonly participantId: string
  readonly firstName: string
  readonly lastName: string
  readonly gender: 'F' | 'M'
  /** Years, at the time of the screening. */
  readonly age: number
  /** `YYYY-MM-DD`. */
  readonly dateOfBirth: string
  readonly postalCode: string
}

export interface Provider {
  readonly name: string
  readonly npi: string
  readonly phone: string
}

const FEMALE_NAMES = [
  'Ada',
  'Alice',
  'Anna',
  'Beth',
  'Carol',
  'Clara',
  'Diana',
  'Ellen',
  'Emma',
  'Flora',
  'Grace',
  'Hannah',
  'Irene',
  'Julia',
  'Laura',
  'Lucy',
  'Maria',
  'Nora',
  'Paula',
  'Rosa',
  'Ruth',
  'Sara',
  'Teresa',
  'Vera',
] as const
const MALE_NAMES = [
  'Adam',
  'Alan',
  'Arthur',
  'Ben',
  'Carl',
  'Daniel',
  'David',
  'Eric',
  'Frank',
  'George',
  'Henry',
  'Isaac',
  'Jack',
  'Leo',
  'Mark',
  'Martin',
  'Noel',
  'Oscar',
  'Paul',
  'Peter',
  'Ralph',
  'Samuel',
  'Thomas',
  'Victor',
] as const
const SURNAMES = [
  'Alder',
  'Ash',
  'Baker',
  'Banks',
  'Barley',
  'Beech',
  'Brook',
  'Carter',
  'Castle',
  'Chandler',
  'Clay',
  'Cooper',
  'Dale',
  'Field',
  'Fisher',
  'Fletcher',
  'Ford',
  'Forest',
  'Gardener',
  'Glover',
  'Hazel',
  'Heath',
  'Hill',
  'Holly',
  'Hunter',
  'Lake',
  'Linden',
  'Marsh',
  'Mason',
  'Meadow',
  'Miller',
  'Moor',
  'Oak',
  'Page',
  'Park',
  'Potter',
  'Reed',
  'River',
  'Rowan',
  'Sawyer',
  'Shepherd',
  'Stone',
  'Tanner',
  'Thorn',
  'Turner',
  'Vale',
  'Walker',
  'Weaver',
  'Wells',
  'Wood',
] as const

/** The year of the sample deliveries. */
export const SAMPLE_YEAR = 2026

/** @param ordinal of the participant, from 1; the same ordinal is the same person in every file of one seed. */
export function personAt(seed: number, ordinal: number): Person {
  const random = new Random(seed, STREAM.person, ordinal)
  const gender = random.chance(0.52) ? 'F' : 'M'
  const age = random.integer(19, 69)
  // Born before the end of January, so that the age holds all through February, when the screenings are.
  const dateOfBirth = `${SAMPLE_YEAR - age}-01-${padded(random.integer(1, 31), 2)}`
  return {
    participantId: `AC${padded(ordinal, 7)}`,
    firstName: random.pick(gender === 'F' ? FEMALE_NAMES : MALE_NAMES),
    lastName: random.pick(SURNAMES),
    gender,
    age,
    dateOfBirth: random.chance(1 / 12) ? dateOfBirth : otherMonth(random, age),
    postalCode: padded(random.integer(501, 99950), 5),
  }
}

function otherMonth(random: Random, age: number): string {
  return `${SAMPLE_YEAR - 1 - age}-${padded(random.integer(2, 12), 2)}-${padded(random.integer(1, 28), 2)}`
}

const PROVIDERS = 60

/** One of the physicians; phone numbers are of the range 555-0100 to 555-0199, which is kept free for fiction. */
export function providerAt(seed: number, random: Random): Provider {
  const ordinal = random.integer(1, PROVIDERS)
  const own = new Random(seed, STREAM.provider, ordinal)
  const firstName = own.pick(own.chance(0.5) ? FEMALE_NAMES : MALE_NAMES)
  return {
    name: `Dr. ${firstName} ${own.pick(SURNAMES)}`,
    // Numbers that begin with 2 are well formed, but none has been issued: no real physician is hit.
    npi: withCheckDigit(`2${padded(own.integer(0, 99_999), 5)}${padded(ordinal, 3)}`),
    phone: `${own.integer(201, 989)}-555-01${padded(own.integer(0, 99), 2)}`,
  }
}

/** Appends the Luhn digit over `80840` and the nine digits (45 CFR 162.406). */
export function withCheckDigit(nine: string): string {
  const digits = `80840${nine}`
  let sum = 0
  for (let at = 0; at < digits.length; at++) {
    const digit = Number(digits.at(-1 - at))
    const doubled = at % 2 === 0 ? digit * 2 : digit
    sum += doubled > 9 ? doubled - 9 : doubled
  }
  return `${nine}${(10 - (sum % 10)) % 10}`
}

export const padded = (value: number, width: number): string => String(value).padStart(width, '0')
