import { describe, expect, it } from 'vitest'
import { publishedManifest } from '../scripts/packages/manifest.ts'

const manifest = {
  name: '@svc/one',
  version: '1.2.3',
  exports: {
    '.': { source: './src/index.ts', types: './dist/index.d.ts', default: './dist/index.js' },
    './package.json': './package.json',
  },
  scripts: { build: 'tsup' },
  dependencies: { '@svc/two': 'workspace:*', zod: 'catalog:' },
  peerDependenciesMeta: { '@svc/three': { optional: true }, vitest: { optional: true } },
  devDependencies: { tsup: 'catalog:' },
}

describe('publishedManifest', () => {
  it('contains only entries that a user can install', () => {
    expect(publishedManifest(manifest, { zod: '4.6.7' })).toEqual({
      name: '@svc/one',
      version: '1.2.3',
      exports: {
        '.': { types: './dist/index.d.ts', default: './dist/index.js' },
        './package.json': './package.json',
      },
      dependencies: { '@svc/two': '1.2.3', zod: '^4.6.7' },
      peerDependencies: { '@svc/three': '1.2.3', vitest: '*' },
      peerDependenciesMeta: manifest.peerDependenciesMeta,
    })
  })

  it('refuses a dependency of unknown version', () => {
    expect(() => publishedManifest(manifest, {})).toThrow('zod: the version of catalog: is unknown')
    const linked = { ...manifest, dependencies: { zod: 'link:../zod' } }
    expect(() => publishedManifest(linked, { zod: '4.6.7' })).toThrow('link:../zod')
  })
})
