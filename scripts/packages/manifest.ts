/** The parts of a package's `package.json` that these scripts use. */
export interface Manifest {
  readonly name: string
  readonly version: string
  readonly dependencies?: Readonly<Record<string, string>>
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional: boolean }>>
  readonly exports?: Readonly<Record<string, string | Readonly<Record<string, string>>>>
  readonly [field: string]: unknown
}

/** Parts that only the repository needs: tools, their settings, and the condition that loads sources. */
const OURS_ALONE = new Set(['devDependencies', 'scripts'])
const SOURCE = 'source'

/**
 * A package's published `package.json`. The repository has each dependency in the one version that its tests used
 * (`catalog`). Users get the compatible range, so that they share `fastify` or `zod` with their own program and get
 * fixes without a release of svc. The packages of the repository are released together and depend on each other's
 * exact version.
 * @throws Error for a dependency of unknown version.
 */
export function publishedManifest(
  manifest: Manifest,
  catalog: Readonly<Record<string, string>>,
): Manifest {
  const kept = Object.entries(manifest).filter(([field]) => !OURS_ALONE.has(field))
  const published: Record<string, unknown> = Object.fromEntries(kept)
  const { dependencies, exports, peerDependenciesMeta } = manifest
  if (dependencies) {
    published.dependencies = Object.fromEntries(
      Object.entries(dependencies).map(([name, range]) => [
        name,
        rangeOf(name, range, { version: manifest.version, catalog }),
      ]),
    )
  }
  if (peerDependenciesMeta) {
    published.peerDependencies = Object.fromEntries(
      Object.keys(peerDependenciesMeta).map((name) => [
        name,
        name.startsWith('@svc/') ? manifest.version : '*',
      ]),
    )
  }
  if (exports) {
    published.exports = Object.fromEntries(
      Object.entries(exports).map(([path, target]) => [path, withoutSource(target)]),
    )
  }
  return published as Manifest
}

function rangeOf(
  name: string,
  range: string,
  { version, catalog }: { version: string; catalog: Readonly<Record<string, string>> },
): string {
  if (range === 'workspace:*') return version
  const tested = range === 'catalog:' ? catalog[name] : undefined
  if (tested === undefined) throw new Error(`${name}: the version of ${range} is unknown`)
  return `^${tested}`
}

function withoutSource(
  target: string | Readonly<Record<string, string>>,
): string | Record<string, string> {
  if (typeof target === 'string') return target
  return Object.fromEntries(Object.entries(target).filter(([condition]) => condition !== SOURCE))
}
