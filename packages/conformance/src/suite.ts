import { AssertionError } from 'node:assert'
import pLimit from 'p-limit'
import { AGE_ASSESSMENT_CASES, PAGED_TEST_CASES } from './age-assessment.ts'
import { ACCOUNT_CASES, AUTHENTICATION_CASES } from './authentication.ts'
import { CARE_TEAM_CASES } from './care-teams.ts'
import { type Account, type ConformanceCase, type Control, NothingToJudge } from './case.ts'
import type { Client } from './client.ts'
import { ENVELOPE_CASES } from './envelope.ts'
import {
  biometric,
  careTeam,
  condition,
  createBiometrics,
  createCareTeams,
  createConditions,
  register,
} from './made-up.ts'
import { MEDICAL_RECORDS_CASES } from './medical-records.ts'
import { MEDICAL_RECORDS_FIELD_CASES, MEDICAL_RECORDS_REFUSAL_CASES } from './medical-records-fields.ts'
import { BIOMETRIC_CASES, CONDITION_CASES } from './observations.ts'
import { CONTENT_CASES, READ_CASES } from './reads.ts'

/** All cases, roughly in the order of the document. */
export const SUITE: readonly ConformanceCase[] = [
  ...ENVELOPE_CASES,
  ...BIOMETRIC_CASES,
  ...CONDITION_CASES,
  ...CARE_TEAM_CASES,
  ...ACCOUNT_CASES,
  ...AGE_ASSESSMENT_CASES,
  ...PAGED_TEST_CASES,
  ...CONTENT_CASES,
  ...MEDICAL_RECORDS_FIELD_CASES,
  ...MEDICAL_RECORDS_CASES,
  ...AUTHENTICATION_CASES,
  ...MEDICAL_RECORDS_REFUSAL_CASES,
  ...READ_CASES,
]

/** Result of a case. `words` name the difference, or the reason for not running. They hold no value of a record. */
export interface CaseResult {
  readonly section: string
  readonly row: string
  readonly result: 'passed' | 'differs' | 'not run'
  readonly words: string
}

/** Maximum number of cases in flight, low for the sake of a gateway in use. */
const AT_ONCE = 4

/**
 * Runs the cases that are safe against a gateway with other people's data: cases that need nothing, and cases that need an account if
 * `account` is given. All other cases are reported as not run.
 *
 * @param stores also run the cases that register made-up users and store records under them; without `account`, a made-up user replaces it
 * @throws any error other than a finding of a case: the reason of the client's signal, a defect
 */
export async function checkSafely(
  cases: readonly ConformanceCase[],
  client: Client,
  account: Account | undefined,
  stores = false,
): Promise<CaseResult[]> {
  const named = account ?? (stores ? await furnished(client) : undefined)
  const limit = pLimit({ concurrency: AT_ONCE, rejectOnClear: true })
  const results = cases.map((one) => limit(() => resultOf(one, () => runSafely(one, client, named, stores))))
  return Promise.all(results).finally(() => limit.clearQueue())
}

/** Registers a made-up user with records to read. Undefined if the gateway refuses the user; the cases then report the reason. */
async function furnished(client: Client): Promise<Account | undefined> {
  try {
    const { account } = await register(client)
    await createBiometrics(client, [biometric(client, account)])
    await createConditions(client, [condition(client, account)])
    await createCareTeams(client, [careTeam(account)])
    return account
  } catch (finding) {
    if (finding instanceof AssertionError) return undefined
    throw finding
  }
}

async function runSafely(
  one: ConformanceCase,
  client: Client,
  account: Account | undefined,
  stores: boolean,
): Promise<unknown> {
  if (one.needs === 'nothing' || (one.needs === 'writes' && stores)) return one.run(client)
  if (one.needs === 'control' && stores) throw new NothingToJudge('it needs a gateway under test')
  if (one.needs !== 'account') throw new NothingToJudge('it would store records')
  if (account === undefined) throw new NothingToJudge('no account is named')
  return one.run(client, account)
}

async function resultOf({ section, row }: ConformanceCase, run: () => Promise<unknown>): Promise<CaseResult> {
  try {
    await run()
    return { section, row, result: 'passed', words: '' }
  } catch (finding) {
    if (finding instanceof AssertionError) return { section, row, result: 'differs', words: finding.message }
    if (finding instanceof NothingToJudge) return { section, row, result: 'not run', words: finding.message }
    throw finding
  }
}

/** Runs a single case of any kind against a gateway under test. Rejects with the finding of the case. */
export async function runCase(
  one: ConformanceCase,
  client: Client,
  account: Account,
  control: Control,
): Promise<void> {
  if (one.needs === 'account') await one.run(client, account)
  else if (one.needs === 'control') await one.run(client, control)
  else await one.run(client)
}
