/** With what a process proves who it is, and whom it trusts. Replaced while it runs. */

export interface TlsIdentity {
  /** The leaf and its intermediates, PEM. */
  readonly certificate: string;
  /** PKCS8, PEM. */
  readonly key: string;
  /** Whom to trust, PEM: during a rotation the old and the new ones. */
  readonly authorities: string;
}

export interface IdentitySource {
  current(): TlsIdentity;
  /** Called after every replacement; gives the way to be called no more. */
  subscribe(listener: () => void): () => void;
}

/** An identity that somebody else reads and replaces. */
export class StoredIdentity implements IdentitySource {
  #identity: TlsIdentity;
  readonly #listeners = new Set<() => void>();

  constructor(identity: TlsIdentity) {
    this.#identity = identity;
  }

  current(): TlsIdentity {
    return this.#identity;
  }

  replace(identity: TlsIdentity): void {
    this.#identity = identity;
    for (const listener of this.#listeners) listener();
  }

  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }
}

export function sameIdentity(a: TlsIdentity, b: TlsIdentity): boolean {
  return a.certificate === b.certificate && a.key === b.key && a.authorities === b.authorities;
}
