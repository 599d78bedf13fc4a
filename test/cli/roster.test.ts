/** A roster: a mapping that registers people, and nothing else. */
import { readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import { expect, it } from 'vitest'
import { type Clinic, openClinic } from './clinic.ts'
import { startReferenceStore } from './reference-store.ts'

const ROSTER = `mapping: clinic
read: { format: csv }
row:
  key: [id]
  account:
    reference: id
    sponsor: plan
    register:
      firstName: first
      lastName: last
      dateOfBirth: { from: born, format: yyyy-MM-dd }
      gender: { from: gender }
      postalCode: zip
`
const HEAD = 'id,plan,first,last,born,gender,zip\n'
const person = (id: string, born = '1980-02-03'): string => `${id},acme,A,B,${born},FEMALE,04884\n`

const openRoster = async (mapping = ROSTER, job = ''): Promise<Clinic> =>
  openClinic({
    mapping,
    job: `exports: { from: ../inbox, match: "*.csv", mapping: clinic }\n${job}`,
    store: await startReferenceStore(),
  })

it('registers its people once, whoever stands on two rows, and counts whom the gateway knows', async () => {
  const clinic = await openRoster()
  await clinic.deliver(
    'r1.csv',
    `${HEAD}${person('ann')}${person('ben')}${person('ann')}${person('cat', 'x')}`,
  )
  const first = await clinic.run()
  const summary = JSON.parse(first.out)
  expect(first.code).toBe(1)
  expect(summary).toMatchObject({
    balanced: true,
    rows: { read: 4, mapped: 4 },
    records: { account: { made: 4, accepted: 2, unchanged: 1, rejected: 1 }, biometric: { made: 0 } },
    accounts: { registered: 2, refused: 1 },
  })
  const receipts = gunzipSync(readFileSync(summary.files.receipts)).toString().trim().split('\n')
  expect(receipts.map((line) => JSON.parse(line))).toEqual(
    Array.from({ length: 2 }, () => ({
      ...{ transactionId: expect.stringMatching(/-account-/), outcome: 'accepted', batchId: null },
      ...{ status: null, gatewayId: expect.any(String) },
    })),
  )

  // Mended, and delivered with a new person: whom the crosswalk has is unchanged.
  await clinic.deliver('r1.csv', `${HEAD}${person('ann')}${person('cat')}${person('dan')}`)
  const second = await clinic.run()
  expect(second.code).toBe(0)
  expect(JSON.parse(second.out)).toMatchObject({
    records: { account: { made: 3, accepted: 2, unchanged: 1 } },
    requests: { sent: 2 },
  })
  expect((await clinic.workplace.waybill('show', 'latest')).out).toContain('accounts')
})

it('registers nobody where the job says so, and says who is not registered', async () => {
  const clinic = await openRoster(ROSTER, 'accounts: { register: never }\n')
  await clinic.deliver('r1.csv', `${HEAD}${person('ann')}`)
  const { code, out } = await clinic.run()
  expect([code, JSON.parse(out).records.account.rejected]).toEqual([1, 1])
  expect((await clinic.workplace.waybill('show', 'latest')).out).toContain('account-unknown')
})
