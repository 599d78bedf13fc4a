import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { stringify } from 'yaml'
import { type ReferenceGateway, startReferenceGateway } from '../../reference-gateway/src/server.ts'
import { takeTest } from '../src/age-assessment.ts'
import type { Account, Control } from '../src/case.ts'
import { type Client, createClient } from '../src/client.ts'
import {
  biometric,
  careTeam,
  condition,
  createBiometrics,
  createCareTeams,
  createConditions,
  DIASTOLIC,
  HYPERTENSION,
  register,
} from '../src/made-up.ts'
import { createRoi, upserted } from '../src/medical-records.ts'
import { SUITE } from '../src/suite.ts'
import { judgedBy, misnamed, type Recorded, recorded } from './recorded.ts'

/** The clock of all gateways of this file; cases let it go on. */
let now = Date.UTC(2024, 6, 1)

let gateway: ReferenceGateway
let client: Client
/** Holds what the cases that read a named account look for. */
let account: Account

const control: Control = {
  async tokenOf(owner) {
    const token = `token-${randomUUID()}`
    const { status } = await fetch(`${gateway.url}/_reference/tokens`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ token, account: owner }),
    })
    if (status !== 204) throw new Error(`the token could not be bound: ${status}`)
    return token
  },
  async passTime(ms) {
    now += ms
  },
}

beforeAll(async () => {
  gateway = await startReferenceGateway({ clock: () => now, makeId: randomUUID })
  client = createClient({
    baseUrl: gateway.url,
    apiKey: 'key',
    accessToken: 'token',
    timeLimitMs: 5_000,
    signal: new AbortController().signal,
    makeId: randomUUID,
  })
  const user = await register(client)
  account = user.account
  await createBiometrics(client, [biometric(client, account), biometric(client, account, DIASTOLIC)])
  await createConditions(client, [condition(client, account), condition(client, account, HYPERTENSION)])
  await createCareTeams(client, [careTeam(account)])
  const request = await createRoi(client)
  await upserted(client, { ...request, patient: { ...request.patient, ...account } })
  await takeTest(client, { ...user, token: await control.tokenOf(account) })
})
afterAll(() => gateway.close())

const kept: Recorded[] = []

describe('the reference gateway keeps to the document', () => {
  test.each(SUITE)('$section / $row', async (one) => {
    kept.push(await recorded(one, client, account, control))
  })
})

test('each case judges of the answers what the golden file says', async () => {
  const all: Record<string, Record<string, readonly string[]>> = {}
  for (const one of kept) {
    const { section, row } = one.one
    const same = all[section]?.[row] ?? []
    all[section] = { ...all[section], [row]: [...same, ...(await judgedBy(one, account))] }
  }
  const text = `# Answers that each case judges: statuses taken, members needed; with "=", members whose values count; behind "200:", members of a success that a case takes beside a refusal.\n${stringify(all, { lineWidth: 0 })}`
  await expect(text).toMatchFileSnapshot(join(import.meta.dirname, 'golden/judged.yaml'))
})

/** Cases that compare an answer with another answer: without its value, the other one differs. */
const COMPARED_WITH_AN_ANSWER = [
  'The answers object maps a question id to an array of objects, each mapping a fact id to the chosen answerId.',
  'the bearer token identifies the user',
  'GET /content/distribution/article/{contentId}',
  'existing',
  'existing',
]

test('a finding about a value that does not come names no value of its kind', async () => {
  const found: string[] = []
  for (const one of kept) found.push(...(await misnamed(one, account)).map(() => one.one.row))
  expect(found).toEqual(COMPARED_WITH_AN_ANSWER)
})
