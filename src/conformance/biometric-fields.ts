import { type ConformanceCase, inSection } from './case.ts'
import type { Client } from './client.ts'
import { biometricsOf, createBiometrics, register, some } from './profile.ts'
import { biometric, OBSERVED } from './sample-records.ts'
import {
  assertForm,
  assertKept,
  at,
  EPOCH_TEXT,
  type Form,
  INTEGER,
  ISO_INSTANT,
  instantOf,
  LIST,
  NUMBER,
  OBJECT,
  TEXT,
} from './values.ts'

const sent = inSection('Biometric record, as sent')
const read = inSection('Biometric record, as read')

/** A biometric with what create echoed and what a read gives of it. */
async function stored(client: Client) {
  const user = await register(client)
  const record = biometric(user.account, client.unique('record'))
  const body = await createBiometrics(client, [record])
  assertKept(at(body, 'data.1'), undefined, 'a second item of data[]')
  return {
    ...user,
    record,
    body,
    echo: at(body, 'data.0'),
    found: (await biometricsOf(client, user.account))[0],
  }
}

/** The field comes back as it was sent, in the echo and in a read. */
const kept = (field: 'name' | 'codes' | 'value' | 'unit'): ConformanceCase =>
  sent.writes(field, async (client) => {
    const { record, echo, found } = await stored(client)
    assertKept(at(echo, field), record[field], `${field} in the echo`)
    assertKept(at(found, field), record[field], `${field} as read`)
  })

/** The fields are taken; no answer gives them back, so the record with and without them is stored all the same. */
const taken = (row: string, ...fields: readonly string[]): ConformanceCase =>
  sent.writes(row, async (client) => {
    const { account } = await register(client)
    const record = biometric(account, client.unique('record'))
    const without = Object.fromEntries(Object.entries(record).filter(([field]) => !fields.includes(field)))
    await createBiometrics(client, [record])
    await createBiometrics(client, [{ ...without, transactionId: client.unique('record') }])
    const [found] = await biometricsOf(client, account)
    assertKept(at(found, 'value'), record.value, 'value as read')
  })

/** Every record read has the field in its form. */
const each = (field: string, form: Form, presence: 'always' | 'where sent'): ConformanceCase =>
  read.account(field, async (client, account) => {
    const records = some(await biometricsOf(client, account), 'biometrics')
    const judged = presence === 'always' ? records : some(having(records, field), `biometrics with ${field}`)
    for (const record of judged) assertForm(at(record, field), form, field)
  })

/** Beyond the account no field is marked as required, so a record may have been stored without it. */
const having = (records: readonly unknown[], field: string) =>
  records.filter((record) => at(record, field) !== undefined && at(record, field) !== null)

/** Sections "Biometric record, as sent" and "Biometric record, as read". */
export const BIOMETRIC_FIELD_CASES: readonly ConformanceCase[] = [
  sent.writes('transactionId', async (client) => {
    const { record, echo } = await stored(client)
    assertKept(at(echo, 'transactionId'), record.transactionId, 'transactionId in the echo')
  }),
  sent.writes('account', async (client) => {
    const { account, accountId, echo, found } = await stored(client)
    // As sent or as resolved: the document leaves it open.
    const named = at(echo, 'account.reference')
    const known = named === account.reference || (typeof named === 'string' && named.endsWith(accountId))
    assertKept(known, true, 'account.reference in the echo naming the user')
    assertForm(found, OBJECT, "the user's record as read")
  }),
  kept('name'),
  sent.writes('observationDate', async (client) => {
    const { record, echo, found } = await stored(client)
    assertForm(record.observationDate, ISO_INSTANT, 'observationDate as sent')
    assertKept(instantOf(at(echo, 'observationDate')), OBSERVED, 'the instant observationDate in the echo')
    assertKept(
      at(found, 'observationDate'),
      String(OBSERVED),
      'observationDate as read, in epoch milliseconds,',
    )
  }),
  taken('codeSystem, codeSystemName, code', 'codeSystem', 'codeSystemName', 'code'),
  kept('codes'),
  taken('refHigh, refLow', 'refHigh', 'refLow'),
  taken('refRange', 'refRange'),
  taken('type', 'type'),
  kept('value'),
  kept('unit'),
  sent.writes('source', async (client) => {
    const { record, echo, found } = await stored(client)
    for (const field of ['name', 'type', 'notes'] as const)
      assertKept(at(echo, `source.${field}`), record.source[field], `source.${field} in the echo`)
    assertKept(at(found, 'source'), record.source, 'source as read')
  }),
  sent.writes(
    'Biometric create response data[] items: transactionId, account (reference, type, sponsor), name, source (name, notes, type, meta.dataQuality), observationDate (ISO 8601 string), value, unit, codes.',
    async (client) => {
      const { echo } = await stored(client)
      const forms: Record<string, Form> = {
        transactionId: TEXT,
        'account.reference': TEXT,
        'account.type': TEXT,
        'account.sponsor': TEXT,
        name: TEXT,
        'source.name': TEXT,
        'source.notes': TEXT,
        'source.type': TEXT,
        'source.meta.dataQuality': TEXT,
        observationDate: ISO_INSTANT,
        value: NUMBER,
        unit: TEXT,
        codes: LIST,
      }
      for (const [field, form] of Object.entries(forms)) assertForm(at(echo, field), form, `data[].${field}`)
    },
  ),
  sent.writes('The envelope has code 201 (integer) and message of the form 201 CREATED.', async (client) => {
    const { body } = await stored(client)
    assertForm(at(body, 'code'), INTEGER, 'code')
    assertKept(at(body, 'code'), 201, 'code 201')
    assertKept(/^201\b/.test(String(at(body, 'message'))), true, 'message beginning with 201')
  }),

  each('id', TEXT, 'always'),
  each('accountReference', OBJECT, 'always'),
  read.account('created, updated', async (client, account) => {
    for (const record of some(await biometricsOf(client, account), 'biometrics')) {
      assertForm(at(record, 'created'), EPOCH_TEXT, 'created')
      // Of a record that was never updated, the document does not show what it is.
      if (at(record, 'updated') !== undefined && at(record, 'updated') !== null)
        assertForm(at(record, 'updated'), EPOCH_TEXT, 'updated')
    }
  }),
  each('name', TEXT, 'where sent'),
  each('source', OBJECT, 'where sent'),
  each('observationDate', EPOCH_TEXT, 'where sent'),
  each('value', NUMBER, 'where sent'),
  each('unit', TEXT, 'where sent'),
  read.account('codes', async (client, account) => {
    const records = some(await biometricsOf(client, account), 'biometrics')
    for (const record of some(having(records, 'codes'), 'biometrics with codes')) {
      assertForm(at(record, 'codes'), LIST, 'codes')
      assertForm(at(record, 'codes.0'), OBJECT, 'codes[]')
    }
  }),
]
