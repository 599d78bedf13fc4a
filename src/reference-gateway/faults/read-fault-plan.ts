import { readFile } from 'node:fs/promises'
import { WaybillError } from '../../model/errors.ts'
import { parseYaml } from '../../yaml-file.ts'
import { FaultPlan } from './fault-plan.ts'

/**
 * Reads a fault plan, YAML or JSON (which is YAML too). Throws `usage-wrong` where the file cannot be read, or with a
 * finding for each thing that is wrong with it: line, column and key.
 */
export async function readFaultPlan(file: string): Promise<FaultPlan> {
  let text: string
  try {
    text = await readFile(file, 'utf8')
  } catch (cause) {
    throw new WaybillError('usage-wrong', 'the fault plan cannot be read', {
      place: { file },
      remedy: 'Name a file that exists and may be read with --faults.',
      cause,
    })
  }
  return parseYaml(text, file, FaultPlan, 'usage-wrong').value
}
