/** The one door to @peculiar/x509: it cannot be loaded before reflect-metadata, whatever a caller imports first. */
import "reflect-metadata";

export * from "@peculiar/x509";
