/** Invents health data for people at a reference gateway, and sends the data like any client. Equal people get equal data. */
import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { parse } from 'csv-parse/sync'
import { z } from 'zod'
import { type Account, RegistrationRequest } from '../gateway/contract/account.ts'
import type { AnswerSubmission, AssessmentPage } from '../gateway/contract/age-assessment.ts'
import type { BiometricSent, ConditionSent } from '../gateway/contract/health-profile.ts'
import type { Gateway } from '../gateway/gateway.ts'
import { WaybillError } from '../model/errors.ts'

/** Number of generated records. */
export type Seeded = Readonly<
  Record<
    'people' | 'biometrics' | 'conditions' | 'careTeams' | 'tests' | 'requests' | 'authorizations',
    number
  >
>

/**
 * Reads people from a CSV with the columns of a registration.
 * @throws `usage-wrong`: unreadable file, or incomplete person; the message holds no value
 */
export function readPeople(file: string): readonly RegistrationRequest[] {
  const wrong = (what: string, line?: number): WaybillError =>
    new WaybillError('usage-wrong', `the people of --seed: ${what}`, {
      place: line === undefined ? { file } : { file, line },
      remedy: `Name a CSV with the columns ${Object.keys(RegistrationRequest.shape).join(', ')}.`,
    })
  let rows: unknown[]
  try {
    rows = parse(readFileSync(file), { bom: true, columns: true, trim: true, skip_empty_lines: true })
  } catch (cause) {
    throw wrong(
      cause instanceof Error && 'code' in cause ? `it cannot be read (${cause.code})` : 'it cannot be read',
    )
  }
  return rows.map((row, at) => {
    const person = RegistrationRequest.safeParse(row)
    if (person.success) return person.data
    throw wrong(`${person.error.issues[0]?.path.join('.') ?? 'a column'} is missing or wrong`, at + 2)
  })
}

const LOINC = { codeSystem: '2.16.840.1.113883.6.1', codeSystemName: 'LOINC' }
const ICD10 = { codeSystem: '2.16.840.1.113883.6.90', codeSystemName: 'ICD-10-CM' }
const SOURCE = { name: 'Made up', type: 'screening' }

const MEASUREMENTS = [
  { code: '29463-7', name: 'Body weight', unit: 'kg', from: 52, to: 110 },
  { code: '8480-6', name: 'Systolic blood pressure', unit: 'mm[Hg]', from: 104, to: 158 },
  { code: '8462-4', name: 'Diastolic blood pressure', unit: 'mm[Hg]', from: 62, to: 98 },
  { code: '4548-4', name: 'Hemoglobin A1c', unit: '%', from: 4.8, to: 7.2 },
] as const
const CONDITIONS = [
  { code: 'I10', name: 'Hypertension', share: 0.3 },
  { code: 'E11.9', name: 'Type 2 diabetes mellitus', share: 0.12 },
] as const
/** NPIs with valid check digits. */
const PHYSICIANS = [
  { npi: '1234567893', name: 'Dr. Robin Sample' },
  { npi: '1245319599', name: 'Dr. Kim Example' },
] as const
const SHARES = { test: 0.6, begun: 0.75, request: 0.25, authorization: 0.6 }
const DAY_MS = 86_400_000
const PDF = Buffer.from('%PDF-1.4\n1 0 obj<</Type/Catalog>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF\n')

/** Draws a number in [0, 1), equal for equal input. */
const chance = (...of: readonly string[]): number =>
  hash('sha256', of.join('\u0000'), 'buffer').readUInt32BE() / 2 ** 32

/**
 * @param gateway answers the paged test in the name of each person
 * @param now the data was observed in the year before
 * @throws GatewayError
 */
export async function seedGateway(
  gateway: Gateway,
  people: readonly RegistrationRequest[],
  now: number,
): Promise<Seeded> {
  const seeded = {
    people: people.length,
    biometrics: 0,
    conditions: 0,
    careTeams: 0,
    tests: 0,
    requests: 0,
    authorizations: 0,
  }
  const types = await gateway.medicalRecords.requestTypes()
  const today = Math.floor(now / DAY_MS) * DAY_MS
  for (const person of people) {
    const { partnerAccountId: reference } = person
    const account = { reference, type: 'partnerAccountId' } as const
    const draw = (what: string): number => chance(reference, what)
    const at = today - Math.floor(1 + draw('day') * 364) * DAY_MS
    await gateway.accounts.register(person)

    const biometrics = MEASUREMENTS.map((one): BiometricSent => {
      const { code, name, unit, from, to } = one
      return {
        transactionId: `seed-${reference}-${code}`,
        account,
        name,
        unit,
        source: SOURCE,
        observationDate: new Date(at).toISOString(),
        codes: [{ code, name, ...LOINC }],
        value: Math.round((from + draw(code) * (to - from)) * 10) / 10,
      }
    })
    await gateway.biometrics.create(biometrics)
    seeded.biometrics += biometrics.length

    const conditions = CONDITIONS.filter(({ code, share }) => draw(code) < share).map(
      ({ code, name }): ConditionSent => ({
        transactionId: `seed-${reference}-${code}`,
        account,
        name,
        status: 'active',
        source: SOURCE,
        observationDate: at,
        codes: [{ code, name, ...ICD10 }],
      }),
    )
    if (conditions.length > 0) await gateway.conditions.create(conditions)
    seeded.conditions += conditions.length

    const physician = PHYSICIANS[Math.floor(draw('physician') * PHYSICIANS.length)] ?? PHYSICIANS[0]
    await gateway.careTeams.create([
      { account, ...physician, type: 'PCP', observationDate: String(at), source: SOURCE },
    ])
    await gateway.careTeams.setPrimary({ account, npi: physician.npi })
    seeded.careTeams++

    if (draw('test') < SHARES.begun) {
      await answerTest(gateway, account, draw('test') < SHARES.test ? Number.POSITIVE_INFINITY : 1)
      if (draw('test') < SHARES.test) seeded.tests++
    }
    if (draw('request') >= SHARES.request) continue
    const isAuthorized = draw('authorization') < SHARES.authorization
    await askForRecords(gateway, person, types, at, isAuthorized)
    seeded.requests++
    if (isAuthorized) seeded.authorizations++
  }
  return seeded
}

async function answerTest(gateway: Gateway, account: Account, pages: number): Promise<void> {
  const test = await gateway.assessmentAs(account)
  let page = await test.currentPage()
  for (let answered = 0; page !== undefined && answered < pages; answered++)
    page = await test.submit(answersOf(page, account.reference))
}

/** Answers each fact of each question; of a question with any number of choices, one. */
function answersOf(
  { moduleId, questionGroupId, questions }: AssessmentPage,
  reference: string,
): AnswerSubmission {
  const answers = questions.map(({ id, type, answers: options }) => {
    const byFact = [...Map.groupBy(options, ({ factId }) => factId)]
    const chosen = byFact.map(([fact, of]) => {
      const option = of[Math.floor(chance(reference, id, fact) * of.length)]
      return { [fact]: option?.answerId ?? '' }
    })
    return [id, type === 'checkbox' ? chosen.slice(0, 1) : chosen] as const
  })
  return { moduleId, questionGroupId, answers: Object.fromEntries(answers) }
}

type RequestTypes = Awaited<ReturnType<Gateway['medicalRecords']['requestTypes']>>
const SubTypes = z.array(z.looseObject({ id: z.string() }))

async function askForRecords(
  gateway: Gateway,
  { firstName, lastName, dateOfBirth, partnerAccountId }: RegistrationRequest,
  types: RequestTypes,
  at: number,
  isAuthorized: boolean,
): Promise<void> {
  const [type] = types
  const [subType] = SubTypes.parse(type?.requestSubType ?? [])
  if (type === undefined || subType === undefined) return
  const day = (ms: number): string => new Date(ms).toISOString().slice(0, 10)
  const { requests } = await gateway.medicalRecords.upsert([
    {
      referenceNumber: `seed-${partnerAccountId}`,
      patient: {
        type: 'partnerAccountId',
        reference: partnerAccountId,
        firstName,
        lastName,
        dob: dateOfBirth,
      },
      provider: { groupName: 'Sample Practice', npi: PHYSICIANS[0].npi },
      request: {
        type: '',
        requestType: type.id,
        requestSubType: subType.id,
        datesOfService: { type: 'startEnd', start: day(at - 365 * DAY_MS), end: day(at) },
      },
      webhook: { sendStatusChange: false, url: '' },
    },
  ])
  const address = requests[0]?.authorizationUploadUrl
  if (isAuthorized && typeof address === 'string')
    await gateway.medicalRecords.uploadAuthorization(address, PDF)
}
