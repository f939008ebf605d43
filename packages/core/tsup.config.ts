import { copyFile, readdir } from 'node:fs/promises'
import { join } from 'node:path'
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
  // Nor have these two.
  boolbase: 'licences/boolbase.txt',
  slick: 'licences/slick.txt',
}

/** juice, and what it uses: of 33 packages those that the thread loads. */
const JUICE = [
  'cheerio',
  'cheerio-select',
  'css-select',
  'css-what',
  'dom-serializer',
  'domelementtype',
  'domhandler',
  'domutils',
  'entities',
  'htmlparser2',
  'juice',
  'mensch',
  'nth-check',
]

/** Where pnpm has one version of each package. */
const ALL_PACKAGES = '../../node_modules/.pnpm/node_modules'

export default defineConfig(
  // The files that threads start with: not exports, but loaded by their paths.
  packageBuild({
    entry: {
      'dispatch/worker': './src/dispatch/worker.ts',
      'storage/sqlite/reader-worker': './src/storage/sqlite/engine/reader-worker.ts',
      'maintenance/backup/backup-process': './src/maintenance/backup/backup-process.ts',
      'maintenance/inspect/inspect-thread': './src/maintenance/inspect/inspect-thread.ts',
      'templates/inline-css-thread': './src/templates/inline-css-thread.ts',
    },
    noExternal: [...Object.keys(COPIED), ...JUICE],
    esbuildOptions(options) {
      // Without the parts that fetch style sheets, decode files and know the rules of browsers for broken HTML: 1 MB less.
      options.alias = { cheerio: 'cheerio/slim', juice: 'juice/client.js' }
    },
    async onSuccess() {
      for (const [name, licence] of Object.entries(COPIED)) {
        await copyFile(licence, `dist/${name}.LICENSE.txt`)
      }
      for (const name of JUICE) {
        const folder = join(ALL_PACKAGES, name)
        const licence = (await readdir(folder)).find((file) => file.startsWith('LICENSE'))
        if (!licence) throw new Error(`${name} has no licence`)
        await copyFile(join(folder, licence), `dist/${name}.LICENSE.txt`)
      }
    },
  }),
)
