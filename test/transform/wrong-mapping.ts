/** What is told of a mapping that is wrong, and heads of mappings to make wrong. */
import { load, refusalOf } from './mapping-under-test.ts'

/** `line key: message` of each finding. */
export const findings = (mapping: string): string[] =>
  refusalOf(() => load(mapping)).findings.map(
    ({ place, message }) => `${place.line} ${place.key}: ${message}`,
  )

export const HEAD = `mapping: m
read: { format: csv }
row: { key: [id], account: { reference: id }, observedAt: { from: at, format: ISO, zone: UTC }, source: { name: N, type: t } }
`
export const NESTED = HEAD.replace('{ format: csv }', '{ format: ndjson, each: { obx: "$.obx[*]" } }')
  .replace('key: [id]', 'key: [$.id]')
  .replace('reference: id', 'reference: $.id')
  .replace('from: at', 'from: $.at')
