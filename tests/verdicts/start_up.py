"""A small command that imports much before it does little."""

import asyncio
import concurrent.futures
import ctypes
import email.mime.multipart
import http.server
import logging.config
import multiprocessing.pool
import sqlite3
import unittest.mock
import urllib.request
import vocabulary
import xml.dom.minidom
import xml.etree.ElementTree
import xmlrpc.client
import zipfile


def main():
    modules = [asyncio, concurrent, ctypes, email, http, logging, multiprocessing, sqlite3, unittest, urllib, xml, xmlrpc, zipfile]
    modules.append(vocabulary)
    print(len(modules))


if __name__ == "__main__":
    main()
