import { createHash } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { createGateway, startReferenceGateway } from '../../src/open-waybill.ts'
import { readPeople, type Seeded, seedGateway } from '../../src/runs/seed-gateway.ts'
import { temporaryFolder } from '../temporary-folder.ts'

const NOW = Date.UTC(2026, 2, 2, 12)
const PEOPLE = Array.from({ length: 40 }, (_, at) => ({
  ...{ partnerAccountId: `p-${at}`, firstName: 'Ada', lastName: `Sample${at}` },
  ...{ dateOfBirth: '1970-01-31', gender: 'FEMALE', postalCode: '02116' },
}))

async function seeded() {
  const served = await startReferenceGateway({ clock: () => NOW })
  const bind = async (reference: string): Promise<string> => {
    const token = `as-${reference}`
    const body = JSON.stringify({ token, account: { reference, type: 'partnerAccountId' } })
    const headers = { 'content-type': 'application/json' }
    await fetch(`${served.url}/_reference/tokens`, { method: 'POST', headers, body })
    return token
  }
  const gateway = createGateway({
    ...{ baseUrl: served.url, apiKey: 'key', accessToken: 'token' },
    userToken: ({ reference }) => bind(reference),
  })
  onTestFinished(async () => {
    gateway.close()
    await served.close()
  })
  const told = await seedGateway(gateway, PEOPLE, NOW)
  const read = async (path: string) => (await fetch(`${served.url}/_reference/${path}`)).text()
  return { gateway, told, read }
}

const lines = (text: string): Record<string, unknown>[] =>
  text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))

test('what it says was made up is there, of every kind, and can be read', async () => {
  const { gateway, told, read } = await seeded()
  const counts = JSON.parse(await read('counts'))
  const expected: Partial<Seeded> = { people: 40, biometrics: 160, careTeams: 40 }
  expect(told).toMatchObject(expected)
  expect(counts).toMatchObject({
    ...{
      account: told.people,
      biometric: told.biometrics,
      condition: told.conditions,
      careTeam: told.careTeams,
    },
    ...{ medicalRecords: told.requests, authorization: told.authorizations },
  })
  for (const kind of ['conditions', 'tests', 'requests', 'authorizations'] as const)
    expect([kind, told[kind] > 0 && told[kind] < 40]).toEqual([kind, true])
  expect(counts.assessment).toBeGreaterThan(told.tests)

  const results = await Promise.all(
    PEOPLE.map(({ partnerAccountId: reference }) =>
      gateway.ageAssessment.result({ reference, type: 'partnerAccountId' }),
    ),
  )
  expect(results.filter((one) => one !== undefined)).toHaveLength(told.tests)
  const requests = lines(await read('records?kind=medicalRecords'))
  const authorized = requests.filter(({ _authorization: of }) => of !== null)
  expect([requests.length, authorized.length]).toEqual([told.requests, told.authorizations])
  const pdf = Buffer.from('%PDF-1.4\n1 0 obj<</Type/Catalog>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF\n')
  expect(authorized[0]?.['_authorization']).toBe(createHash('sha256').update(pdf).digest('hex'))
})

test('the same people get the same, wherever it is done', async () => {
  const [one, other] = await Promise.all([seeded(), seeded()])
  expect(one.told).toEqual(other.told)
  for (const kind of ['biometric', 'condition', 'assessment'])
    expect(await one.read(`records?kind=${kind}`)).toBe(await other.read(`records?kind=${kind}`))
})

const COLUMNS = 'partnerAccountId,firstName,lastName,dateOfBirth,gender,postalCode'

test.each([
  [
    'a person without a name',
    `${COLUMNS}\np-1,Ada,Sample,1970-01-31,FEMALE,02116\np-2,,SECRET,1970-01-31,FEMALE,02116\n`,
    'firstName is missing or wrong',
    3,
  ],
  [
    'a date of another form',
    `${COLUMNS}\np-1,Ada,SECRET,01/31/1970,FEMALE,02116\n`,
    'dateOfBirth is missing or wrong',
    2,
  ],
  ['other columns', 'id,name\n1,SECRET\n', 'dateOfBirth is missing or wrong', 2],
  ['rows of another width', `${COLUMNS}\np-1,SECRET\n`, 'cannot be read', undefined],
])('people that cannot be registered are refused: %s', async (_, text, problem, line) => {
  const folder = await temporaryFolder()
  const file = join(folder, 'people.csv')
  await writeFile(file, text)
  const refused = (() => {
    try {
      return readPeople(file)
    } catch (error) {
      return error
    }
  })()
  expect(refused).toMatchObject({
    code: 'usage-wrong',
    message: expect.stringContaining(problem),
    place: line === undefined ? { file } : { file, line },
  })
  expect(JSON.stringify(refused)).not.toContain('SECRET')
})
