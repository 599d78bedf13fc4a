import { readFile } from 'node:fs/promises'
import { z } from 'zod'
import { ENDPOINTS, type EndpointName } from '../gateway/contract/endpoints.ts'
import { WaybillError } from '../model/errors.ts'
import { parseYaml } from '../yaml-file.ts'
import { KINDS } from './fault-kinds.ts'
import { endpointsOf, type Group, isGroup } from './fault-targets.ts'

export type FaultKind = keyof typeof KINDS
type Schema = (typeof KINDS)[FaultKind]['schema']

export const Fault = z.discriminatedUnion(
  'do',
  Object.values(KINDS).map(({ schema }) => schema) as [Schema, ...Schema[]],
  { error: 'expected a kind of fault in `do` (docs/faults.md lists them)' },
)
export type Fault = z.infer<typeof Fault>
/** A fault of one kind. */
export type FaultOf<Kind extends FaultKind> = Extract<Fault, { do: Kind }>

/** Whether a kind of fault has a meaning for a call. */
export const suits = (kind: FaultKind, name: EndpointName): boolean =>
  KINDS[kind].behaviour.suits?.(ENDPOINTS[name], name) ?? true

/** The endpoints that `on` names and that the kind of fault has a meaning for. */
export const targetsOf = (
  kind: FaultKind,
  on: readonly (EndpointName | Group)[],
): ReadonlySet<EndpointName> => new Set(endpointsOf(on).filter((endpoint) => suits(kind, endpoint)))

type Problem = readonly [key: string, message: string]

/** What a schema of one fault does not see: keys that exclude each other, and calls that the kind says nothing about. */
function problemsOf(fault: Fault): Problem[] {
  const problems = fault.on.flatMap((name): Problem[] =>
    isGroup(name) || suits(fault.do, name) ? [] : [['on', `\`${fault.do}\` has no meaning for ${name}`]],
  )
  const named = fault.on.length > 0 && problems.length === 0
  if (named && targetsOf(fault.do, fault.on).size === 0)
    problems.push(['on', `\`${fault.do}\` has no meaning for any of these calls`])
  const both = 'share' in fault && fault.share !== undefined && 'count' in fault && fault.count !== undefined
  if (both) problems.push(['count', 'give `share` or `count`, not both'])
  const own = KINDS[fault.do].behaviour.problem?.(fault)
  return own === undefined ? problems : [...problems, own]
}

/** A fault plan: the faults in the order in which they are asked whether they strike. */
export const FaultPlan = z
  .strictObject({ seed: z.int().default(0), faults: z.array(Fault).min(1) })
  .superRefine(({ faults }, context) => {
    for (const [index, fault] of faults.entries())
      for (const [key, message] of problemsOf(fault))
        context.addIssue({ code: 'custom', path: ['faults', index, key], message })
  })
export type FaultPlan = z.infer<typeof FaultPlan>

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
