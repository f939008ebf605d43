import { SETTINGS, type Setting } from '@svc/server/settings'

/** The default of a setting in the form of the environment; empty if it has none. */
export function defaultOf(env: string): string {
  return settingOf(env).default_text ?? ''
}

/** The help text of an option that replaces a setting. */
export function optionText(env: string): string {
  const { summary, default: value } = settingOf(env)
  return `${summary} (default: ${env}, or ${value})`
}

/**
 * The row of a setting.
 * @throws Error for a variable that is not in the table.
 */
export function settingOf(env: string): Setting {
  const setting = SETTINGS.find((each) => each.env === env)
  if (!setting) throw new Error(`there is no setting ${env}`)
  return setting
}
