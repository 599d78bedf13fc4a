/** Condition rules: wide (a column says yes) and long (a coded row, or element, is one). */

import { createFrame, fault, PreparedRecord, type RecordFrame } from '../model/record.ts'
import { type ConditionEntry, snomedCodes } from './catalog.ts'
import { CODE_SYSTEM_OID } from './codes.ts'
import { compileCoded } from './compile-code.ts'
import { deepest } from './compile-context.ts'
import { compileField } from './compile-field.ts'
import type { ConditionDefinition } from './mapping-definition.ts'
import {
  type CompiledRule,
  compileApplies,
  ordinalRule,
  type RuleSite,
  recordRule,
  rejected,
} from './rule.ts'

const NO_STATUS = fault('status-missing', 'there is no status')

/** Compiles a wide or a long rule; problems go to the context's findings. */
export function compileCondition(site: RuleSite, definition: ConditionDefinition): CompiledRule {
  const { context, name, path } = site
  const subject = compileCoded(context, definition, 'conditions', path, name)
  const { condition, date, otherwise } = compileApplies(site, definition)
  const at = [...path, 'status']
  const status = compileField(context, context.word(definition.status, at), at)
  const frames = new Map([...context.catalog.conditions].map(([key, entry]) => [key, frameOf(site, entry)]))
  const depth = deepest(subject, condition, date, status)

  return {
    depth,
    apply(scope, facts, rowDate, ordinals) {
      if (!condition.holds(scope)) return otherwise
      const key = subject.read(scope)
      if (typeof key === 'object' && 'leftOut' in key) return key
      if (typeof key !== 'string')
        return rejected('condition', ordinalRule('unmapped', ordinals), key, subject.from)
      const frame = frames.get(key)
      if (frame === undefined) return undefined
      const rule = recordRule(name, key, depth, ordinals)
      const state = status.read(scope)
      if (typeof state !== 'string') return rejected('condition', rule, state, status.from)
      if (state === '') return rejected('condition', rule, NO_STATUS, status.from)
      const observedAt = date === undefined ? rowDate : date.read(scope)
      if (!observedAt.ok) return { kind: 'condition', rule, issue: observedAt.issue }
      // The date goes out as a number of milliseconds (interface, "Condition record, as sent").
      return new PreparedRecord(frame, rule, facts, observedAt, undefined, [JSON.stringify(state)])
    },
  }
}

function frameOf({ row, source }: RuleSite, entry: ConditionEntry): RecordFrame {
  const { name, icd10 } = entry
  const [snomed = ''] = snomedCodes(entry)
  const codings = [
    { code: icd10, codeSystem: CODE_SYSTEM_OID['ICD-10-CM'], codeSystemName: 'ICD-10-CM', name },
    { code: snomed, codeSystem: CODE_SYSTEM_OID.SNOMED, codeSystemName: 'SNOMED CT', name },
  ]
  const codes = `,"codes":${JSON.stringify(codings)},${source.beforeKey}`
  return createFrame({
    ...{ kind: 'condition', sourceType: row.source.type, codes: [icd10, snomed], name },
    pieces: [`,"name":${JSON.stringify(name)},"status":`, ',"observationDate":', codes, source.afterKey],
    holes: [0, 'epochMs'],
  })
}
