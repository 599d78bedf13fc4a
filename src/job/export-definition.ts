/** One entry of a job's `exports:` as written (docs/jobs.md): where files arrive, which are exports, when one is complete. */
import { z } from 'zod'
import { DEFAULT_LIMITS } from '../extract/content-limits.ts'
import { ExpectDefinition } from './expect-definition.ts'
import { ByteSize, Duration } from './quantities.ts'

const fileName = z
  .string()
  .min(1)
  .regex(/^[^/\\]+$/, 'is a file name, without a folder')

/** A name beside that of the export, which stands at `{name}`. */
const companion = fileName.regex(/\{name\}/, 'has no {name} in it; write it like "{name}.done"')

const Sftp = z.strictObject({
  host: z.string().min(1),
  port: z.int().min(1).max(65_535).default(22),
  user: z.string().min(1),
  folder: z.string().min(1).default('.'),
  /** The fingerprint of the server's key, or a known_hosts file. There is no connection without. */
  hostKey: z
    .string()
    .min(1)
    .refine(
      (text) => !/^(SHA256|MD5):/.test(text) || /^SHA256:[A-Za-z0-9+/]{43}=?$/.test(text),
      'is no fingerprint; it is SHA256: and 43 characters, as `ssh-keygen -l` prints it',
    ),
  /** Private key, relative to the job file. */
  keyFile: z.string().min(1).optional(),
})

const S3 = z.strictObject({
  bucket: z.string().min(1),
  prefix: z.string().default(''),
  region: z.string().min(1),
  /** Storage other than Amazon's. */
  endpoint: z
    .string()
    .refine(isSafeAddress, 'must be an https address; plain http is for loopback addresses only')
    .optional(),
})

export const ExportDefinition = z.strictObject({
  /** Folder, relative to the job file; or a server. */
  from: z
    .union([z.string().min(1), z.strictObject({ sftp: Sftp }), z.strictObject({ s3: S3 })])
    .meta({ description: 'A folder, relative to the job file; or a server.' }),
  /** Names to take; `*` stands for anything, `{date:yyyyMMdd}` for a date in luxon tokens. */
  match: z
    .string()
    .min(1)
    .meta({ description: 'Names to take; * stands for anything, {date:yyyyMMdd} for a date.' }),
  mapping: z.string().min(1).optional(),
  /** What must be so before an export is taken; all of what is given. */
  complete: z
    .strictObject({
      /** It has not changed for so long. */
      stableFor: Duration.optional().meta({ description: 'It has not changed for so long, like 60s.' }),
      /** This file lies beside it. */
      marker: companion.optional().meta({ description: 'This file lies beside it, like {name}.done.' }),
      /** A manifest with such a name, a pattern like `match`, names it. */
      manifest: fileName.optional().meta({ description: 'A manifest with such a name names it.' }),
    })
    .refine((rules) => Object.keys(rules).length > 0, 'says nothing; it takes stableFor, marker, manifest')
    .optional(),
  /** What is compared before anything is sent. */
  verify: z
    .strictObject({ checksum: fileName })
    .optional()
    .meta({ description: 'What is compared before anything is sent.' }),
  /** Which members of an archive are exports, by a pattern like `match`. */
  members: fileName
    .optional()
    .meta({ description: 'Which members of an archive are exports, by a pattern.' }),
  /** Nothing is taken that is not encrypted so. */
  encrypted: z.literal('pgp').optional().meta({ description: 'Nothing is taken that is not encrypted so.' }),
  /** What may come out of a compressed or encrypted file. */
  limits: z
    .strictObject({
      bytes: ByteSize.default(DEFAULT_LIMITS.bytes),
      ratio: z.int().min(1).default(DEFAULT_LIMITS.ratio),
    })
    .optional(),
  /** Where exports go after a run of them has balanced. */
  archive: z
    .string()
    .min(1)
    .optional()
    .meta({ description: 'Where exports go after a run of them has balanced.' }),
  /** What is told where it does not come true. */
  expect: ExpectDefinition.optional().meta({
    description: 'By when how many exports must have arrived, and how large.',
  }),
})
export type ExportDefinition = z.infer<typeof ExportDefinition>

function isSafeAddress(text: string): boolean {
  const url = URL.parse(text)
  if (url?.protocol === 'https:') return true
  return url?.protocol === 'http:' && ['127.0.0.1', 'localhost', '[::1]'].includes(url.hostname)
}
