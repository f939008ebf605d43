import { copyFile } from 'node:fs/promises'
import { defineConfig } from 'tsup'
import { packageBuild } from '../../scripts/tsup.ts'

/**
 * Packages whose used parts are copied into the build, with their licences. An embedding program then installs 30 MB
 * less, and an import reads a few files instead of hundreds.
 */
const COPIED = {
  zod: 'node_modules/zod/LICENSE',
  'libphonenumber-js': 'node_modules/libphonenumber-js/LICENSE',
  // Its package has no file with its licence.
  'drizzle-orm': 'licences/Apache-2.0.txt',
}

export default defineConfig(
  // The files that threads start with: not exports, but loaded by their paths.
  packageBuild({
    entry: {
      'dispatch/worker': './src/dispatch/worker.ts',
      'storage/sqlite/reader-worker': './src/storage/sqlite/engine/reader-worker.ts',
      'maintenance/backup/backup-process': './src/maintenance/backup/backup-process.ts',
      'maintenance/inspect/inspect-thread': './src/maintenance/inspect/inspect-thread.ts',
    },
    noExternal: Object.keys(COPIED),
    async onSuccess() {
      for (const [name, licence] of Object.entries(COPIED)) {
        await copyFile(licence, `dist/${name}.LICENSE.txt`)
      }
    },
  }),
)
