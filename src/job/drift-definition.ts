/** The `drift` block of a job as written (docs/jobs.md, "Drift"): how far an export may differ from earlier ones. */
import { z } from 'zod'
import { Share } from './quantities.ts'

/** A share from 0 to 1; infinite where nothing is ever too much. */
const Limit = z.union([Share, z.literal('off').transform(() => Number.POSITIVE_INFINITY)])

const limits = (warn: string) =>
  z.union([
    z.literal('off').transform(() => ({ warn: Number.POSITIVE_INFINITY, stop: Number.POSITIVE_INFINITY })),
    z.strictObject({ warn: Limit.prefault(warn), stop: Limit.prefault('off') }),
  ])

export const DriftDefinition = z.strictObject({
  columns: z
    .enum(['stop', 'warn', 'off'])
    .default('warn')
    .meta({ description: 'Columns missing, new, renamed or in another order.' }),
  rows: limits('50%')
    .prefault({})
    .meta({ description: 'Change of the number of rows, as a share of what is usual.' }),
  empty: limits('20%')
    .prefault({})
    .meta({ description: "Change of a column's share of empty values, in percentage points." }),
  mix: limits('20%')
    .prefault({})
    .meta({ description: 'Change of the share that a unit, code or rule has, in percentage points.' }),
  after: z
    .int()
    .min(1)
    .max(20)
    .default(3)
    .meta({ description: 'Earlier deliveries needed before anything but columns is compared.' }),
})
export type DriftDefinition = z.infer<typeof DriftDefinition>

/** Whether anything is compared at all. */
export const comparesDrift = ({ columns, rows, empty, mix }: DriftDefinition): boolean =>
  columns !== 'off' ||
  [rows, empty, mix].some(({ warn, stop }) => Number.isFinite(warn) || Number.isFinite(stop))
