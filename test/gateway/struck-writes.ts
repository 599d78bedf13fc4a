import type { Gateway } from '../../src/gateway/gateway.ts'
import { REGISTRATION } from './sample-records.ts'
import { account } from './shared-reference.ts'
import { BATCHES, newCareTeam, requestOf } from './struck-batches.ts'
import type { Attempt, StruckWrite, Told } from './struck-write.ts'

const IT = 'it'
const done: Told = { class: 'accepted', echoes: [IT], errors: 0 }
/** Nothing was done, as the method's result says. */
const notDone: Told = { class: 'refused', echoes: [], errors: 0 }

const single = (
  call: (gateway: Gateway, origin: string) => Promise<unknown>,
  hasEffect: () => Promise<boolean>,
  read: (result: unknown) => Told = () => done,
): Attempt => ({
  sent: [IT],
  call: async (gateway, origin) => read(await call(gateway, origin)),
  stored: async () => ((await hasEffect()) ? { [IT]: 1 } : {}),
})

/** The answers of the first page of the shipped test. */
const FIRST_PAGE = {
  moduleId: 'body-and-day',
  questionGroupId: 'size',
  answers: { height: [{ 'height-feet': 'feet-5' }, { 'height-inches': 'inches-7' }] },
}

/** Every write of the client. */
export const WRITES: readonly StruckWrite[] = [
  {
    name: 'accounts.register',
    endpoint: 'registerAccount',
    answer: 'body',
    alsoAnswers: 409,
    prepare: async (reference, subject) => {
      reference.willBeRegistered(subject)
      return single(
        ({ accounts }) => accounts.register({ ...REGISTRATION, partnerAccountId: subject }),
        () => reference.knows(subject),
        (result) => ((result as { known: boolean }).known ? notDone : done),
      )
    },
  },
  {
    name: 'accounts.delete',
    endpoint: 'deleteAccount',
    answer: 'none',
    prepare: async (reference, subject) => {
      await reference.register(subject)
      return single(
        ({ accounts }) => accounts.delete(account(subject)),
        async () => !(await reference.knows(subject)),
      )
    },
  },
  ...BATCHES,
  {
    name: 'careTeams.delete',
    endpoint: 'deleteCareTeams',
    answer: 'none',
    alsoAnswers: 404,
    prepare: async (reference, subject) => {
      await reference.register(subject)
      await reference.addCareTeam(newCareTeam(subject, subject))
      return single(
        ({ careTeams }) => careTeams.delete(account(subject), { npi: [subject] }),
        async () => !(await reference.hasCareTeam(subject)),
        (result) => (result === true ? done : notDone),
      )
    },
  },
  {
    name: 'careTeams.setPrimary',
    endpoint: 'setPrimaryCare',
    answer: 'body',
    prepare: async (reference, subject) => {
      await reference.register(subject)
      await reference.addCareTeam(newCareTeam(subject, subject))
      return single(
        ({ careTeams }) => careTeams.setPrimary({ account: account(subject), npi: subject }),
        () => reference.isMarked(subject),
      )
    },
  },
  {
    name: 'careTeams.unsetPrimary',
    endpoint: 'unsetPrimaryCare',
    answer: 'body',
    prepare: async (reference, subject) => {
      await reference.register(subject)
      await reference.addCareTeam(newCareTeam(subject, subject))
      await reference.mark(subject)
      return single(
        ({ careTeams }) => careTeams.unsetPrimary({ account: account(subject), npi: subject }),
        async () => !(await reference.isMarked(subject)),
      )
    },
  },
  {
    name: 'assessment.submit',
    endpoint: 'submitAnswers',
    answer: 'body',
    prepare: async (reference, subject) => {
      await reference.register(subject)
      await reference.bindToken(subject)
      return single(
        ({ assessment }) => assessment.submit(FIRST_PAGE),
        async () => (await reference.pageOf(subject)) === '1.2',
      )
    },
  },
  {
    name: 'medicalRecords.delete',
    endpoint: 'deleteMedicalRecords',
    answer: 'body',
    prepare: async (reference, subject) => {
      await reference.upsert(requestOf(subject, subject))
      return single(
        ({ medicalRecords }) => medicalRecords.delete(subject),
        async () => (await reference.requestsOf(subject)).length === 0,
      )
    },
  },
  {
    name: 'medicalRecords.uploadAuthorization',
    endpoint: 'uploadAuthorization',
    answer: 'none',
    prepare: async (reference, subject) => {
      const { pathname } = new URL(await reference.upsert(requestOf(subject, subject)))
      const pdf = Buffer.from('%PDF-1.7\n%%EOF\n')
      return single(
        ({ medicalRecords }, origin) => medicalRecords.uploadAuthorization(origin + pathname, pdf),
        async () => (await reference.requestsOf(subject))[0]?.status.documentAvailable === true,
      )
    },
  },
]
