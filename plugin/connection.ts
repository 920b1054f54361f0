/** Which cluster a command speaks to. */
export interface ConnectionOptions {
  readonly kubeconfig?: string;
  readonly context?: string;
}
