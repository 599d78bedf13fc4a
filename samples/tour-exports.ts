/**
 * The exports of the tour, made up like the other samples: a roster, questionnaires on paper, requests for medical records and their PDFs. A few
 * hold a mistake, so that the tour has something to show.
 */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { SAMPLE_FILES } from './generate.ts'
import { type Person, padded, personAt, providerAt } from './people.ts'
import { Random, STREAM } from './random.ts'

export interface TourExports {
  readonly people: readonly Person[]
  /** Requests whose PDF is not there yet. */
  readonly late: readonly string[]
  /** Writes a PDF into the folder of authorizations. */
  authorize(request: string): Promise<void>
}

const DAY = '20260302'
/** Every so many people one has asked for something. */
const ASKS_EVERY = 4

/** @param folder in which `inbox` and `authorizations` are made */
export async function writeTourExports(folder: string, seed: number, count: number): Promise<TourExports> {
  const people = Array.from({ length: count }, (_, at) => personAt(seed, at + 1))
  const at = (...path: string[]): string => join(folder, ...path)
  for (const name of ['inbox', 'authorizations']) await mkdir(at(name), { recursive: true })
  const write = (name: string, head: string, lines: readonly string[]): Promise<void> =>
    writeFile(at('inbox', `${name}_${DAY}.csv`), `${[head, ...lines].join('\n')}\n`)
  await write(
    'roster',
    'participant_id,employer,first_name,last_name,date_of_birth,gender,zip',
    people.map((one) =>
      [
        one.participantId,
        'Acme',
        one.firstName,
        one.lastName,
        one.dateOfBirth,
        one.gender,
        one.postalCode,
      ].join(','),
    ),
  )
  await write(
    'papers',
    'participant_id,sheet,feet,inches,sitting,tobacco,walks,sport,none,sleep',
    // The last sheet has a height that no page offers.
    people.map((one, index) => paperOf(seed, one, index, index === count - 1 ? '9' : undefined)),
  )
  const asked = people.filter((_, index) => index % ASKS_EVERY === 0)
  await write(
    'requests',
    'request,participant_id,first_name,last_name,date_of_birth,zip,physician,npi,phone,purpose,since,until,state',
    asked.map((one, index) => requestOf(seed, one, index)),
  )
  const authorize = (request: string): Promise<void> =>
    writeFile(at('authorizations', `${request}.pdf`), pdfOf(request))
  const requests = asked.map((_, index) => requestId(index))
  const late = requests.slice(-1)
  for (const request of requests) if (!late.includes(request)) await authorize(request)
  return { people, late, authorize }
}

function paperOf(seed: number, { participantId }: Person, index: number, feet = '5'): string {
  const random = new Random(seed, STREAM.visit, index + 1)
  const walks = random.chance(0.6) ? 'X' : ''
  const sport = random.chance(0.3) ? 'X' : ''
  return [
    ...[participantId, `S${padded(index + 1, 4)}`, feet, random.integer(0, 11)],
    ...[random.pick(['A', 'B', 'C']), random.pick(['never', 'former', 'now']), walks, sport],
    ...[walks + sport === '' ? 'X' : '', random.pick(['5', '6', '8', '10'])],
  ].join(',')
}

const requestId = (index: number): string => `REQ-${padded(index + 1, 4)}`

function requestOf(seed: number, one: Person, index: number): string {
  const random = new Random(seed, STREAM.provider, index + 1)
  const { name, npi, phone } = providerAt(seed, random)
  return [
    ...[requestId(index), one.participantId, one.firstName, one.lastName, one.dateOfBirth, one.postalCode],
    ...[name, npi, phone, random.pick(['life', 'disability']), '2024-01-01', '2025-12-31', ''],
  ].join(',')
}

/** The least that is a PDF of one empty page (ISO 32000-1, annex H.2), but for its cross-reference table. */
const pdfOf = (request: string): string => `%PDF-1.4
% Authorization of ${request}: made up, signed by nobody.
1 0 obj << /Type /Catalog /Pages 2 0 R >> endobj
2 0 obj << /Type /Pages /Kids [3 0 R] /Count 1 >> endobj
3 0 obj << /Type /Page /Parent 2 0 R /MediaBox [0 0 200 100] >> endobj
trailer << /Root 1 0 R >>
%%EOF
`

/** Of the screenings of the same people. */
export const TOUR_SCREENINGS = Object.values(SAMPLE_FILES)
