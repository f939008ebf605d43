// Writes a Markdown page for each entry of the packages, from the docstrings of its exports, to docs/reference/api or
// to the given folder: `npm run docs`. Plain JavaScript, because a TypeScript loader loads TypeDoc twice.
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Application } from 'typedoc'
import { readPackages } from './bootstrap/packages.mjs'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const folder = resolve(process.argv[2] ?? join(ROOT, 'docs/reference/api'))
process.chdir(ROOT)

/** Deeper types are internals of schemas. */
const TYPE_DEPTH_MAX = 4

// An export of two entries is documented in the first, so smaller entries come first.
const entries = readPackages().flatMap(({ folder: path, manifest }) =>
  Object.entries(manifest.exports ?? {})
    .reverse()
    .flatMap(([subpath, { source }]) =>
      source ? [{ name: manifest.name + subpath.slice(1), source: join(path, source) }] : [],
    ),
)

const app = await Application.bootstrapWithPlugins({
  plugin: ['typedoc-plugin-markdown'],
  outputs: [{ name: 'markdown', path: folder }],
  entryPoints: entries.map(({ source }) => source),
  tsconfig: 'tsconfig.json',
  name: 'The packages',
  readme: 'none',
  router: 'module',
  excludeExternals: true,
  excludeInternal: true,
  excludePrivate: true,
  disableSources: true,
  githubPages: false,
  maxTypeConversionDepth: TYPE_DEPTH_MAX,
  // Types that are not exported are described where they are used; another test requires docstrings of exports.
  validation: { notExported: false, invalidLink: true, notDocumented: false },
  // The sources are checked by `npm run types`.
  skipErrorChecking: true,
  logLevel: 'Warn',
  entryFileName: 'README',
  hidePageHeader: true,
  hideBreadcrumbs: true,
  parametersFormat: 'table',
  interfacePropertiesFormat: 'table',
  typeAliasPropertiesFormat: 'table',
  typeDeclarationFormat: 'table',
})
const project = await app.convert()
if (project) {
  for (const module of project.children ?? []) {
    const entry = entries.find(({ source }) =>
      source.replace(/(\/index)?\.ts$/, '').endsWith(`/${module.name}`),
    )
    if (!entry) throw new Error(`${module.name} is not an entry of a package`)
    module.name = entry.name
  }
  app.validate(project)
}
if (!project || app.logger.hasErrors() || app.logger.hasWarnings()) process.exit(1)
await app.generateOutputs(project)
if (app.logger.hasErrors()) process.exit(1)
