/** Condition rules: wide (a column says yes) and long (each coded row or element is a condition). */

import { Entry } from '../model/entry.ts'
import { createFrame, type Fault, fault, type RecordFrame } from '../model/record.ts'
import { type ConditionEntry, codingsOfCondition } from './catalog.ts'
import { CODE_SYSTEM_OID } from './codes.ts'
import { compileCoded } from './compile-code.ts'
import { compileField, compileWhen } from './compile-field.ts'
import { type ConditionDefinition, isOptional } from './mapping-definition.ts'
import {
  type CompiledRule,
  compileApplies,
  isListed,
  leftOutAsWithdrawn,
  listedAs,
  ordinalRule,
  type RuleSite,
  recordRule,
  rejected,
} from './rule.ts'
import { branchOf, type Scope } from './scope.ts'
import type { SourceText } from './source.ts'
import { compileWhole } from './whole-value.ts'

const NO_STATUS = fault('status-missing', 'there is no status')

/** Compiles a wide or a long rule; problems go to the context's findings. */
export function compileCondition(site: RuleSite, definition: ConditionDefinition): CompiledRule {
  const { context, name, path, row } = site
  const begun = context.reads.length
  const subject = compileCoded(context, definition, 'conditions', path, name)
  const { condition, date, otherwise } = compileApplies(site, definition)
  const at = [...path, 'status']
  const { status: written } = definition
  const status = written === undefined ? undefined : compileField(context, context.word(written, at), at)
  const details = [
    ...(definition.medication === undefined ? [] : [compileMedication(site, definition.medication)]),
    ...(definition.family === undefined ? [] : [compileFamily(site, definition.family)]),
  ]
  const hasDetails = details.length > 0
  const withdrawn = definition.withdrawn && compileWhen(context, definition.withdrawn, [...path, 'withdrawn'])
  const value = context.reads.slice(begun).map((one) => one.name)
  const wholeOf = compileWhole(context, 'condition', value, site.rowReads, [row.ignore, definition.ignore])
  const branch = branchOf(subject, condition, date, status, withdrawn, ...details)
  const framesOf = (hasStatus: boolean) =>
    new Map(
      [...context.catalog.conditions].map(([key, entry]) => [
        key,
        site.source.each((source) =>
          frameOf(source, entry, { hasStatus, hasDetails, listedAs: listedAs(name, key, branch) }),
        ),
      ]),
    )
  const frames = framesOf(true)
  const withoutStatus = isOptional(written) ? framesOf(false) : undefined
  /** State of the last record, and its text: most records of a rule have one state. */
  let stated: string | undefined
  let texts: readonly string[] = []

  return {
    branch,
    dateOf: isListed(name, branch) ? (scope, rowDate) => date?.read(scope) ?? rowDate : undefined,
    apply(scope, facts, rowDate, ordinals) {
      if (!condition.holds(scope)) return otherwise
      const key = subject.read(scope)
      if (typeof key === 'object' && 'leftOut' in key) return key
      if (typeof key !== 'string')
        return rejected('condition', ordinalRule('unmapped', ordinals), key, subject.from)
      if (!frames.has(key)) return undefined
      const rule = recordRule(name, key, branch, ordinals)
      if (withdrawn?.holds(scope)) {
        const takenBack = frames.get(key)?.()
        const at = date?.read(scope) ?? rowDate
        return takenBack && leftOutAsWithdrawn(takenBack, rule, facts, at, 'status withdrawn')
      }
      const unread = wholeOf?.().unread(scope, true)
      if (unread !== undefined) return rejected('condition', rule, unread.fault, unread.part)
      const state = status === undefined ? '' : status.read(scope)
      if (typeof state !== 'string') return rejected('condition', rule, state, status?.from)
      const frame = (state === '' ? withoutStatus : frames)?.get(key)?.()
      if (frame === undefined) return rejected('condition', rule, NO_STATUS, status?.from)
      const observedAt = date === undefined ? rowDate : date.read(scope)
      if (!observedAt.ok) return { kind: 'condition', rule, issue: observedAt.issue }
      if (state !== stated) {
        stated = state
        texts = [JSON.stringify(state)]
      }
      if (!hasDetails) return new Entry(frame, rule, facts, observedAt, undefined, texts)
      let more = ''
      for (const { read } of details) {
        const detail = read(scope)
        if (typeof detail !== 'string') return rejected('condition', rule, detail.fault, detail.from)
        more += detail
      }
      // The date is sent as a number of milliseconds (interface, "Condition record, as sent").
      return new Entry(frame, rule, facts, observedAt, undefined, [...texts, more])
    },
  }
}

/** Members of the record's JSON text, with a comma before each; '' where the row has none. */
interface Detail {
  readonly branch: number
  readonly read: (scope: Scope) => string | { readonly fault: Fault; readonly from: string | undefined }
}

/** OIDs of the systems of medications (HL7 OID registry). */
const MEDICATION_SYSTEMS = {
  RxNorm: { codeSystem: '2.16.840.1.113883.6.88', codeSystemName: 'RxNorm' },
  NDC: { codeSystem: '2.16.840.1.113883.6.69', codeSystemName: 'NDC' },
  ATC: { codeSystem: '2.16.840.1.113883.6.73', codeSystemName: 'ATC' },
  SNOMED: { codeSystem: CODE_SYSTEM_OID.SNOMED, codeSystemName: 'SNOMED CT' },
} as const

/** Section "Code object": an item of `medication[]`. */
function compileMedication(
  { context, path }: RuleSite,
  definitions: NonNullable<ConditionDefinition['medication']>,
): Detail {
  const drugs = definitions.map(({ code, system, name, when }, at) => {
    const own = [...path, 'medication', at]
    return {
      code: compileField(context, code, [...own, 'code']),
      name: name === undefined ? undefined : compileField(context, name, [...own, 'name']),
      condition: compileWhen(context, when, [...own, 'when']),
      system: system === undefined ? {} : MEDICATION_SYSTEMS[system],
    }
  })
  return {
    branch: branchOf(...drugs.flatMap(({ code, name, condition }) => [code, name, condition])),
    read(scope) {
      const items: Record<string, string>[] = []
      for (const { code, name, condition, system } of drugs) {
        if (!condition.holds(scope)) continue
        const text = code.read(scope)
        if (typeof text !== 'string') return { fault: text, from: code.from }
        if (text === '') continue
        const called = name === undefined ? '' : name.read(scope)
        if (typeof called !== 'string') return { fault: called, from: name?.from }
        items.push({ code: text, ...system, ...(called === '' ? {} : { name: called }) })
      }
      return items.length === 0 ? '' : `,"medication":${JSON.stringify(items)}`
    },
  }
}

/** Section "Condition record, as sent": `family` has `history` and `member`. */
function compileFamily(
  { context, path }: RuleSite,
  { history, member = [] }: NonNullable<ConditionDefinition['family']>,
): Detail {
  const own = [...path, 'family']
  const at = [...own, 'history']
  const historyField =
    history === undefined ? undefined : compileField(context, context.word(history, at), at)
  const members = Array.isArray(member)
    ? member.map((field, index) => ({
        condition: compileWhen(context, undefined, own),
        field: compileField(context, field, [...own, 'member', index]),
      }))
    : Object.entries(member).map(([relative, when]) => ({
        condition: compileWhen(context, when, [...own, 'member', relative]),
        field: compileField(context, { constant: relative }, [...own, 'member', relative]),
      }))
  return {
    branch: branchOf(historyField, ...members.flatMap(({ condition, field }) => [condition, field])),
    read(scope) {
      const words = historyField === undefined ? '' : historyField.read(scope)
      if (typeof words !== 'string') return { fault: words, from: historyField?.from }
      const relatives: string[] = []
      for (const { condition, field } of members) {
        if (!condition.holds(scope)) continue
        const relative = field.read(scope)
        if (typeof relative !== 'string') return { fault: relative, from: field.from }
        if (relative !== '' && !relatives.includes(relative)) relatives.push(relative)
      }
      const family = {
        ...(words === '' ? {} : { history: words }),
        ...(relatives.length === 0 ? {} : { member: relatives }),
      }
      return Object.keys(family).length === 0 ? '' : `,"family":${JSON.stringify(family)}`
    },
  }
}

interface ConditionParts {
  readonly hasStatus: boolean
  /** True for a second hole, for fields beside status and date. */
  readonly hasDetails: boolean
  readonly listedAs: string | undefined
}

function frameOf(
  source: SourceText,
  entry: ConditionEntry,
  { hasStatus, hasDetails, listedAs: listed }: ConditionParts,
): RecordFrame {
  const { name } = entry
  const codings = codingsOfCondition(entry)
  const ofSystems = codings.slice(0, Math.max(1, codings.length - (entry.codes?.length ?? 0)))
  const codes = `,"codes":${JSON.stringify(codings)},${source.beforeKey}`
  return createFrame({
    kind: 'condition',
    sourceType: source.type,
    codes: ofSystems.map(({ code }) => code),
    name,
    listedAs: listed,
    pieces: [
      ...(hasStatus
        ? [`,"name":${JSON.stringify(name)},"status":`, ',"observationDate":']
        : [`,"name":${JSON.stringify(name)},"observationDate":`]),
      ...(hasDetails ? [''] : []),
      codes,
      source.afterKey,
    ],
    holes: [...(hasStatus ? [0] : []), 'epochMs', ...(hasDetails ? [1] : [])],
  })
}
