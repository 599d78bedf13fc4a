/** Opens the source that a job names. The clients of SFTP and S3 are loaded where a job uses them, and only there. */
import type { ExportSource } from './export-source.ts'
import { createFolderSource, type FolderPlace } from './folder-source.ts'
import type { S3Place } from './s3-source.ts'
import type { SftpPlace } from './sftp-source.ts'

export type SourcePlace =
  | ({ readonly kind: 'folder' } & FolderPlace)
  | ({ readonly kind: 'sftp' } & SftpPlace)
  | ({ readonly kind: 's3' } & S3Place)

/** @param sftpPassword for an SFTP server where the job names no key */
export async function openSource(
  place: SourcePlace,
  sftpPassword: string | undefined,
): Promise<ExportSource> {
  if (place.kind === 'folder') return createFolderSource(place)
  if (place.kind === 'sftp') return (await import('./sftp-source.ts')).createSftpSource(place, sftpPassword)
  return (await import('./s3-source.ts')).createS3Source(place)
}
