/** MSH-7 tells the offset of all times of its message that tell none (HL7 v2.5.1, 2.15.9.7). */
import { expect, test } from 'vitest'
import { readMessage } from '../../src/extract/hl7v2-message.ts'
import type { JsonValue } from '../../src/model/row.ts'
import { jsonMapper, mapped } from './mapping-under-test.ts'

const observed = (document: JsonValue, path: string, zone = 'America/New_York', partial = ''): string[] => {
  const map = jsonMapper(`mapping: m
read: { format: ndjson }
row: { key: [{ constant: k }], account: { reference: { constant: P-1 } }, observedAt: { from: "${path}", format: [HL7, ISO], zone: ${zone}${partial} }, source: { name: N, type: t } }
biometrics: [{ catalog: heart-rate, value: { constant: "62" }, unit: { constant: /min } }]
`)
  return mapped(map(document)).records.map(({ observedAt }) => new Date(observedAt).toISOString())
}

const message = (sent: string, at: string): JsonValue => {
  const read = readMessage(`MSH|^~\\&|L|N|H|U|${sent}\rPID|1||P-1\rOBR|1||||||${at}`)
  return 'value' in read ? read.value : expect.fail(read.problem)
}
const OBR = "$.PATIENT_RESULT[0].ORDER_OBSERVATION[0].OBR['7'][0]['1']"

test.each([
  // In July New York is at -0400, and this laboratory is not.
  ['20260701120000-0500', '20260701091000', '2026-07-01T14:10:00.000Z'],
  ['20260701120000+0530', '202607010910', '2026-07-01T03:40:00.000Z'],
  ['20260701120000+0530', '20260701', '2026-06-30T18:30:00.000Z'],
  ['20260701120000-0500', '20260701091000+0200', '2026-07-01T07:10:00.000Z'],
  ['20260701120000-0500', '2026-07-01T09:10', '2026-07-01T13:10:00.000Z'],
  ['20260701120000', '20260701091000', '2026-07-01T13:10:00.000Z'],
  ['', '20260701091000', '2026-07-01T13:10:00.000Z'],
])('sent %s, observed %s: %s', (sent, at, expected) => {
  expect(observed(message(sent, at), OBR)).toEqual([expected])
})

test.each([
  ["$.at['1']", { MSH: { 7: { 1: '20260701-0500' } } }],
  ["$.at['1']", { MSH: { 7: '20260701-0500' } }],
  ["$.HL7Message.at['1']", { HL7Message: { MSH: { 'MSH.7': { 'MSH.7.1': '20260701-0500' } } } }],
  ["$.ORU_R01.at['1']", { ORU_R01: { MSH: [{ 'MSH.7': [{ 'TS.1': ['20260701-0500'] }] }] } }],
])('in the shape of %s', (path, document: Record<string, object>) => {
  const at = { 1: '20260701091000' }
  const [name = '', within] = Object.entries(document)[0] ?? []
  const whole = name === 'MSH' ? { ...document, at } : { [name]: { ...within, at } }
  expect(observed(whole as JsonValue, path)).toEqual(['2026-07-01T14:10:00.000Z'])
})
