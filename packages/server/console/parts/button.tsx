import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { errorText } from '../shell/api.ts'
import { hrefOf } from '../shell/router.ts'
import { Icon } from './icon.tsx'
import { toast } from './toast.tsx'

interface Look {
  kind?: 'primary' | 'plain' | 'quiet' | 'danger'
  icon?: string
  children?: ComponentChildren
}

/**
 * A button. While the promise of `onClick` is pending, the button is busy and takes no clicks; its error is shown as a toast.
 * `label`: the name of a button that has only an icon.
 */
export function Button({
  kind = 'plain',
  icon,
  children,
  label,
  type = 'button',
  disabled = false,
  busy = false,
  onClick,
}: Look & {
  label?: string
  type?: 'button' | 'submit'
  disabled?: boolean
  busy?: boolean
  onClick?: () => unknown
}) {
  const [isRunning, setRunning] = useState(false)
  const isBusy = busy || isRunning
  async function run() {
    if (isBusy || !onClick) return
    const result = onClick()
    if (!(result instanceof Promise)) return
    setRunning(true)
    try {
      await result
    } catch (error) {
      toast(errorText(error), 'bad')
    } finally {
      setRunning(false)
    }
  }
  return (
    <button
      type={type}
      class={`button ${kind}${children ? '' : ' square'}`}
      disabled={disabled}
      aria-busy={isBusy}
      aria-label={label}
      title={label}
      onClick={run}
    >
      {icon && <Icon name={icon} />}
      {children}
    </button>
  )
}

/** A link that looks like a button. `to`: the path below the console. */
export function LinkButton({ kind = 'plain', icon, children, to }: Look & { to: string }) {
  return (
    <a class={`button ${kind}`} href={hrefOf(to)}>
      {icon && <Icon name={icon} />}
      {children}
    </a>
  )
}
