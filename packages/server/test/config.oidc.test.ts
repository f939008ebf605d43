import { describe, expect, it } from 'vitest'
import { ConfigError, readConfig } from '../src/settings/config.ts'

const CLIENT = {
  SVC_OIDC_ISSUER: 'https://id.example.com/realms/acme',
  SVC_OIDC_CLIENT_ID: 'svc',
  SVC_OIDC_CLIENT_SECRET: 'secret',
}
const WORKSPACE = '019a9c5e-1d00-7c3a-9a51-3f0c6d1b2e01'
const ROLES = { SVC_OIDC_WORKSPACE: WORKSPACE, SVC_OIDC_ROLES: 'cn=admins=admin, devs=developer' }

function messageOf(env: NodeJS.ProcessEnv): string {
  try {
    readConfig(env)
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError)
    return (error as ConfigError).message
  }
  throw new Error(`accepted: ${JSON.stringify(env)}`)
}

describe('the settings of OIDC', () => {
  it('are null if none is set, and need the three of the client together', () => {
    expect(readConfig({}).oidc).toBeNull()
    expect(readConfig(CLIENT).oidc).toMatchObject({ client_id: 'svc', roles: null })
    for (const name of Object.keys(CLIENT)) {
      expect(messageOf({ ...CLIENT, [name]: '' })).toMatch(`${name} must be set too`)
    }
  })

  it('map values of a claim to roles', () => {
    expect(readConfig({ ...CLIENT, ...ROLES }).oidc?.roles).toEqual({
      workspace_id: WORKSPACE,
      claim: 'groups',
      by_value: new Map([
        ['cn=admins', 'admin'],
        ['devs', 'developer'],
      ]),
    })
    const named = readConfig({ ...CLIENT, ...ROLES, SVC_OIDC_ROLE_CLAIM: 'roles' })
    expect(named.oidc?.roles?.claim).toBe('roles')
  })

  it.each([
    [{ ...CLIENT, SVC_OIDC_ISSUER: 'http://id.example.com' }, 'SVC_OIDC_ISSUER must be the https'],
    [{ ...CLIENT, SVC_OIDC_ISSUER: 'https://a:b@c.example' }, 'SVC_OIDC_ISSUER must be the https'],
    [{ ...CLIENT, ...ROLES, SVC_OIDC_ROLES: 'a=owner' }, 'SVC_OIDC_ROLES must be a list'],
    [{ ...CLIENT, ...ROLES, SVC_OIDC_ROLES: '=admin' }, 'SVC_OIDC_ROLES must be a list'],
    [{ ...CLIENT, ...ROLES, SVC_OIDC_WORKSPACE: 'acme' }, 'SVC_OIDC_WORKSPACE must be the id'],
    [{ ...CLIENT, SVC_OIDC_WORKSPACE: WORKSPACE }, 'SVC_OIDC_ROLES must be set too'],
    [ROLES, 'SVC_OIDC_ISSUER must be set too'],
  ])('%j is refused', (env, message) => {
    expect(messageOf(env)).toMatch(message)
  })

  it('never show the secret in an error', () => {
    const env = { ...CLIENT, SVC_OIDC_ISSUER: 'nonsense', SVC_OIDC_CLIENT_SECRET: 'hunter2' }
    expect(messageOf(env)).not.toContain('hunter2')
  })
})
