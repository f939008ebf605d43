import { copyFile } from 'node:fs/promises'
import { defineConfig } from 'tsup'
import { packageBuild } from '../../scripts/tsup.ts'

export default defineConfig(
  // The files that threads start with: not exports, but loaded by their paths.
  packageBuild({
    entry: {
      'dispatch/worker': './src/dispatch/worker.ts',
      'storage/sqlite/reader-worker': './src/storage/sqlite/engine/reader-worker.ts',
      'storage/backup/backup-process': './src/storage/backup/backup-process.ts',
    },
    // A hundred files otherwise, most of them error texts in other languages, in the way of every command and start.
    noExternal: ['zod'],
    onSuccess: () => copyFile('node_modules/zod/LICENSE', 'dist/zod.LICENSE.txt'),
  }),
)
