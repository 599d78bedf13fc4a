import { z } from 'zod'
import { tolerated } from './tolerated.ts'

/**
 * Section "Source object", `source.meta`, as sent. `dataQuality` `normalized` requests validation of the record
 * (documented for conditions); its other values are not documented. `persistentRecordId` is the record's id in the
 * sending system and the one field by which a read leads back to what was sent.
 */
export const SourceMeta = z.looseObject({
  dataQuality: z.string().optional(),
  batchId: z.string().optional(),
  resourceKey: z.string().optional(),
  sendingSystem: z.string().optional(),
  persistentRecordId: z.string().optional(),
})
export type SourceMeta = z.infer<typeof SourceMeta>

/** Section "Source object", as sent. Reads return the latest record per code and `type`; its values are not listed. */
export const Source = z.looseObject({
  name: z.string().optional(),
  type: z.string().optional(),
  notes: z.string().optional(),
  meta: SourceMeta.optional(),
})
export type Source = z.infer<typeof Source>

/** The source in an answer; the echo of a biometric gives only name, notes, type and meta.dataQuality. */
export const SourceAsRead = z.looseObject({
  name: tolerated(z.string()),
  type: tolerated(z.string()),
  notes: tolerated(z.string()),
  meta: tolerated(
    z.looseObject({
      dataQuality: tolerated(z.string()),
      batchId: tolerated(z.string()),
      resourceKey: tolerated(z.string()),
      sendingSystem: tolerated(z.string()),
      persistentRecordId: tolerated(z.string()),
    }),
  ),
})
export type SourceAsRead = z.infer<typeof SourceAsRead>
