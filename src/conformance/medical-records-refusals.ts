import assert from 'node:assert/strict'
import {
  allFormed,
  answered,
  at,
  type ConformanceCase,
  formed,
  INTEGER,
  inSection,
  jsonOf,
  kept,
  LIST,
  listAt,
  TEXT,
  textAt,
} from './case.ts'
import type { Answer, Client } from './client.ts'
import {
  ANY_KIND,
  createRoi,
  createTaken,
  PATH,
  remove,
  renewed,
  search,
  searchFor,
  uploadFor,
  upsert,
} from './medical-records.ts'

const errors = inSection('Errors')

/** The inner envelope serialised as text within a message; undefined where there is none. */
function innerOf(message: string): unknown {
  try {
    return JSON.parse(message.slice(message.indexOf('{'), message.lastIndexOf('}') + 1))
  } catch {
    return undefined
  }
}

/** A body of 400 in one of the two forms that the section has. @returns the body */
function refusal(answer: Answer): unknown {
  const body = jsonOf(answered(answer, 400))
  kept(at(body, 'code'), 400, 'code')
  formed(at(body, 'message'), TEXT, 'message')
  for (const error of listAt(body, 'errors')) allFormed(error, { code: INTEGER, message: TEXT }, 'errors[].')
  return body
}

/** The refusal of a search without a patient. */
const searchRefusal = async (client: Client) => refusal(await search(client, searchFor({}, ANY_KIND)))

function tells(answer: Answer, pattern: RegExp, what: string): void {
  refusal(answer)
  assert.match(answer.text, pattern, `${answer.call}: the document has a message that ${what}; it does not`)
}

/** Gives each request of a batch a reference number of its own. */
function renumbered(client: Client, batch: readonly object[]) {
  const prefix = client.unique('batch')
  return batch.map((request, index) => ({ ...request, referenceNumber: `${prefix}-${'abc'[index]}` }))
}

/** A request as the gateway takes it, but for its patient's first name. */
async function nameless(client: Client) {
  const { sent } = await createTaken(client)
  return { sent, bad: renewed(client, { ...sent, patient: { ...sent.patient, firstName: '' } }) }
}

/** Section "Errors". */
export const MEDICAL_RECORDS_REFUSAL_CASES: readonly ConformanceCase[] = [
  ...errors.nothing({
    code: searchRefusal,
    message: async (client) => {
      const message = textAt(await searchRefusal(client), 'message')
      // A bare body has no inner envelope.
      if (innerOf(message) !== undefined)
        kept(message.startsWith('{'), false, 'message beginning without a failure phrase')
    },
    errors: async (client) => {
      const body = await searchRefusal(client)
      formed(at(body, 'errors'), LIST, 'errors')
      if (innerOf(textAt(body, 'message')) === undefined) return
      for (const error of listAt(body, 'errors')) {
        kept(at(error, 'code'), 400, 'errors[].code')
        kept(at(error, 'message'), at(body, 'message'), 'errors[].message, the same text,')
        kept(at(error, 'exception'), null, 'errors[].exception')
      }
    },
    'A bare 400 body has code, message and errors[] (items with code and message).': async (client) =>
      refusal(await search(client, [])),
    'Search with no usable patient field': async (client) => {
      for (const patient of [{}, { lastName: '' }])
        tells(await search(client, searchFor(patient, ANY_KIND)), /patient/i, 'asks for a patient field')
    },
    'Request types call cannot be processed': async (client) => {
      const answer = await client.send('GET', `${PATH}/requestTypes`, {
        headers: { 'X-API-Version': 'none' },
      })
      // Whether another version can be processed is left open; what cannot be is 400.
      if (answered(answer, 200, 400).status === 400) refusal(answer)
    },
  }),
  ...errors.writes({
    'The inner envelope has code, message and errors[] with code (integers 0 and 1 occur) and message.':
      async (client) => {
        const body = refusal(await upsert(client, [(await nameless(client)).bad]))
        const inner = innerOf(textAt(body, 'message'))
        if (inner === undefined) return
        allFormed(inner, { code: INTEGER, message: TEXT }, 'the inner ')
        for (const error of listAt(inner, 'errors'))
          allFormed(error, { code: INTEGER, message: TEXT }, 'the inner errors[].')
      },
    'Malformed request or validation failure on PATCH': async (client) => {
      const { sent, bad } = await nameless(client)
      // Of one request the position would be 0 or 1: which, the document leaves open.
      const batch = () => renumbered(client, [sent, sent, bad])
      tells(await upsert(client, batch()), /first ?name/i, 'names the field')
      tells(await upsert(client, batch()), /[23]/, 'has the position')
    },
    'Delete of a reference number that does not exist or is already processed': async (client) => {
      const pattern = /Reference Number not found Or Request already processed/
      tells(await remove(client, client.unique('reference')), pattern, 'says so')
      const { sent, returned } = await createTaken(client)
      await uploadFor(client, returned)
      tells(await remove(client, sent.referenceNumber), pattern, 'says so')
    },
    'Delete with an invalid reference number': async (client) => answered(await remove(client, '%00'), 400),
    'Missing required block in a request': async (client) => {
      const { sent } = await createTaken(client)
      const { patient: _, ...bad } = await createRoi(client)
      const batch = renumbered(client, [sent, sent, bad])
      tells(await upsert(client, batch), /patient/i, 'names the block')
      tells(await upsert(client, batch), /[23]/, 'has the position')
    },
  }),
]
