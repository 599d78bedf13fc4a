/**
 * Makes the sample exports: `node samples/generate.ts [--participants N] [--messages N] [--seed S] [--out DIR] [--clean]`.
 * The same options give the same bytes. Without any, the files of `samples/inbox`.
 */
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { z } from 'zod'
import { type AcmeCounts, acmeScreening } from './acme-screening.ts'
import { type NorthlabCounts, northlabOru } from './northlab-oru.ts'
import { writeLines } from './write-lines.ts'

const Options = z.strictObject({
  participants: z.coerce.number().int().min(1).default(5000),
  /** ORU messages of the lab; 0 leaves its file out. */
  messages: z.coerce.number().int().min(0).default(500),
  seed: z.coerce.number().int().default(20260302),
  /** Folder that the files are written to; made where it is missing. */
  out: z.string().default(join(import.meta.dirname, 'inbox')),
  /** Without the faults of dirt.ts. */
  clean: z.boolean().default(false),
})
export type SampleOptions = z.input<typeof Options>

export interface SampleCounts {
  readonly acme: AcmeCounts & { readonly path: string; readonly bytes: number }
  readonly northlab: (NorthlabCounts & { readonly path: string; readonly bytes: number }) | undefined
}

/** Names of the files, of the delivery of 2 March 2026. */
export const SAMPLE_FILES = {
  acme: 'acme_screening_20260302.csv',
  northlab: 'northlab_oru_20260302.ndjson',
} as const

/**
 * Writes the files and tells exactly what is in them.
 * @throws ZodError where an option has no usable value
 */
export async function generateSamples(options: SampleOptions = {}): Promise<SampleCounts> {
  const { participants, messages, seed, out, clean } = Options.parse(options)
  await mkdir(out, { recursive: true })
  const acme = acmeScreening(seed, participants, clean)
  const acmePath = join(out, SAMPLE_FILES.acme)
  const acmeBytes = await writeLines(acmePath, acme.lines())
  const written = { acme: { ...acme.counts, path: acmePath, bytes: acmeBytes } }
  if (messages === 0) return { ...written, northlab: undefined }
  const northlab = northlabOru(seed, participants, messages, clean)
  const path = join(out, SAMPLE_FILES.northlab)
  const bytes = await writeLines(path, northlab.lines())
  return { ...written, northlab: { ...northlab.counts, path, bytes } }
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      participants: { type: 'string' },
      messages: { type: 'string' },
      seed: { type: 'string' },
      out: { type: 'string' },
      clean: { type: 'boolean' },
      help: { type: 'boolean' },
    },
  })
  if (values.help) {
    console.log('node samples/generate.ts [--participants N] [--messages N] [--seed S] [--out DIR] [--clean]')
    process.exit()
  }
  console.log(JSON.stringify(await generateSamples(values), undefined, 2))
}
