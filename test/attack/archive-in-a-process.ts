/** A process of its own that archives a file when it is told to, to be killed meanwhile. */
import { createFolderSource } from '../../src/extract/sources/folder.ts'

const [folder = '', archive = ''] = process.argv.slice(2)
const source = createFolderSource({ folder, archive })
const [delivery] = (await source.list()).files
process.on('message', () => {
  if (delivery !== undefined) void source.archive(delivery)
})
process.send?.('ready')
