/** A laboratory that sends HL7 v2 messages, with the shipped mapping. */
import { cp, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { PROJECT } from './command-line.ts'

export const LAB_JOB =
  'exports: { from: ../inbox, match: "*.hl7" }\nmapping: clinic\naccounts: { register: never }\ndrift: { fit: off }\n'

/** One result of a person. @param state of the observation (OBX-11) */
export const labMessage = (
  person: number,
  value: string,
  state: string,
  at = '20260204091000',
  sent = '20260204101500',
): string =>
  [
    `MSH|^~\\&|LAB|FAC|EHR|FAC|${sent}||ORU^R01^ORU_R01|M${person}|P|2.5.1`,
    `PID|1||P-${person}^^^FAC^MR||Quill^Ada||19790412|F|||1 Elm St^^Springfield^IL^62701`,
    `OBR|1|ORD1|FILP-${person}|24323-8^Panel^LN|||${at}`,
    `OBX|1|NM|2345-7^Glucose^LN||${value}|mg/dL|||||${state}`,
    '',
  ].join('\r')

/** The shipped mapping under the name of the clinic's. @param keep states to keep */
export const labMapping = async (keep = 'keep: [F, C]'): Promise<string> =>
  (await readFile(join(PROJECT, 'mappings/hl7v2-oru.yaml'), 'utf8'))
    .replace('mapping: hl7v2-oru', 'mapping: clinic')
    .replaceAll('keep: [F, C]', keep)

/** Tables that the mapping reads. */
export const copyLabTables = (folder: string): Promise<void> =>
  cp(join(PROJECT, 'mappings/tables'), join(folder, 'mappings/tables'), { recursive: true })
